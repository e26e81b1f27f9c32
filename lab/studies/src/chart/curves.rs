//! Curves over a number.

use svg::{
    Document,
    node::element::{Polygon, Polyline},
};

use super::paper::{
    Axis, INK, TOP, WIDTH, canvas, colour, dot, limit, round, rule, text, with_legend,
};
use crate::sheet::{Sheet, Spread};

/// Columns of a sheet whose lines are named by numbers.
pub(crate) struct Curves<'a> {
    pub(crate) sheet: &'a Sheet,
    pub(crate) columns: &'a [&'a str],
    pub(crate) across: Axis,
    pub(crate) up: Axis,
    /// Numbers on the horizontal axis, and their labels.
    pub(crate) marks: &'a [(f64, &'static str)],
    /// A limit on the vertical axis, and its label.
    pub(crate) limit: Option<(f64, &'static str)>,
    /// Whether the range of the seeds is drawn.
    pub(crate) has_band: bool,
}

/// Draws a curve for each column: the mean of the seeds, on a band from the least seed to the
/// greatest.
pub(crate) fn draw_curves(seeds: &[u64], curves: &Curves<'_>) -> Document {
    let band = curves.has_band.then_some("the band");
    let mut picture = canvas(seeds, band, curves.sheet.title, BOTTOM + 56.0);
    picture = with_legend(picture, curves.columns);
    picture = with_axes(picture, curves);
    for (index, column) in curves.columns.iter().enumerate() {
        if curves.has_band && seeds.len() > 1 {
            let most = curves.points(column, Spread::most);
            let band =
                most.into_iter().chain(curves.points(column, Spread::least).into_iter().rev());
            let band = Polygon::new()
                .set("points", listed(band))
                .set("fill", colour(index))
                .set("fill-opacity", 0.2);
            picture = picture.add(band);
        }
        let means = curves.points(column, Spread::mean);
        // Curves that coincide are told apart by the sizes of their dots.
        let radius = MOST_DOT - 1.5 * index as f64;
        let dots = if means.len() <= FEW { means.as_slice() } else { &[] };
        for &(x, y) in dots {
            picture = picture.add(dot(index, x, y).set("r", radius));
        }
        let line = Polyline::new()
            .set("points", listed(means.into_iter()))
            .set("fill", "none")
            .set("stroke", colour(index))
            .set("stroke-width", 2);
        picture = picture.add(line);
    }
    picture
}

fn listed(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.map(|(x, y)| format!("{},{}", round(x), round(y))).collect::<Vec<_>>().join(" ")
}

fn with_axes(mut picture: Document, curves: &Curves<'_>) -> Document {
    for value in curves.across.ticks() {
        let x = curves.x(value);
        picture = picture
            .add(rule(x, TOP, x, BOTTOM))
            .add(text(&value.to_string(), x, BOTTOM + 18.0).set("text-anchor", "middle"));
    }
    for value in curves.up.ticks() {
        let y = curves.y(value);
        picture = picture
            .add(rule(LEFT, y, RIGHT, y))
            .add(text(&value.to_string(), LEFT - 8.0, y + 4.0).set("text-anchor", "end"));
    }
    for (row, (value, name)) in curves.marks.iter().enumerate() {
        let x = curves.x(*value);
        picture = picture
            .add(rule(x, TOP, x, BOTTOM).set("stroke-dasharray", "5 4").set("stroke-opacity", 1))
            .add(text(name, x + 6.0, TOP + 14.0 + 16.0 * row as f64).set("fill", INK));
    }
    if let Some((value, name)) = curves.limit {
        let y = curves.y(value);
        picture = picture
            .add(limit(LEFT, y, RIGHT, y))
            .add(text(name, RIGHT, y - 5.0).set("text-anchor", "end"));
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    picture
        .add(text(curves.across.name, middle, BOTTOM + 40.0).set("text-anchor", "middle"))
        .add(text(curves.up.name, LEFT, TOP - 8.0))
}

impl Curves<'_> {
    /// The points of a column.
    fn points(&self, column: &str, value: fn(&Spread) -> f64) -> Vec<(f64, f64)> {
        let figures = self.sheet.figures(column, |_| true);
        let places = figures
            .filter_map(|(name, figure)| Some((self.x(name.parse().ok()?), self.y(value(figure)))));
        places.collect()
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * self.across.place(value)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * self.up.place(value)
    }
}

const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 24.0;
const BOTTOM: f64 = TOP + 300.0;
/// A curve through no more points than this has a dot at each.
const FEW: usize = 10;
/// The radius of the dots of the first curve.
const MOST_DOT: f64 = 6.5;
