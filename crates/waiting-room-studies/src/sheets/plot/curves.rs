//! Figures that depend on a number, as curves.

use svg::{Document, node::element::Polyline};

use super::canvas::{INK, TOP, WIDTH, canvas, colour, round, rule, text, with_legend};
use crate::sheets::Sheet;

/// Columns of a sheet, by the numbers that its lines are called.
pub(crate) struct Curves<'a> {
    pub(crate) sheet: &'a Sheet,
    pub(crate) columns: &'a [&'a str],
    pub(crate) across: Axis,
    pub(crate) up: Axis,
    /// A number across, and what is there.
    pub(crate) mark: Option<(f64, &'static str)>,
}

/// From 0 to `most`, with a number at each step.
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) most: f64,
    pub(crate) step: f64,
}

pub(crate) fn draw_curves(seeds: &[u64], curves: &Curves<'_>) -> Document {
    let mut picture = canvas(seeds, curves.sheet.title, BOTTOM + 56.0);
    picture = with_legend(picture, curves.columns);
    picture = with_axes(picture, curves);
    for (index, column) in curves.columns.iter().enumerate() {
        let points = curves.sheet.figures(column, |_| true).filter_map(|(name, figure)| {
            let (x, y) = (name.parse().ok()?, figure.mean());
            Some(format!("{},{}", round(curves.x(x)), round(curves.y(y))))
        });
        let line = Polyline::new()
            .set("points", points.collect::<Vec<_>>().join(" "))
            .set("fill", "none")
            .set("stroke", colour(index))
            .set("stroke-width", 2);
        picture = picture.add(line);
    }
    picture
}

fn with_axes(mut picture: Document, curves: &Curves<'_>) -> Document {
    for value in curves.across.values() {
        let x = curves.x(value);
        picture = picture
            .add(rule(x, TOP, x, BOTTOM))
            .add(text(&value.to_string(), x, BOTTOM + 18.0).set("text-anchor", "middle"));
    }
    for value in curves.up.values() {
        let y = curves.y(value);
        picture = picture
            .add(rule(LEFT, y, RIGHT, y))
            .add(text(&value.to_string(), LEFT - 8.0, y + 4.0).set("text-anchor", "end"));
    }
    if let Some((value, name)) = curves.mark {
        let x = curves.x(value);
        picture = picture
            .add(rule(x, TOP, x, BOTTOM).set("stroke-dasharray", "5 4").set("stroke-opacity", 1))
            .add(text(name, x + 6.0, TOP + 14.0).set("fill", INK));
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    picture
        .add(text(curves.across.name, middle, BOTTOM + 40.0).set("text-anchor", "middle"))
        .add(text(curves.up.name, LEFT, TOP - 8.0))
}

impl Curves<'_> {
    fn x(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * value / self.across.most
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * value / self.up.most
    }
}

impl Axis {
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        let step = self.step;
        (0..).map(move |number| step * f64::from(number)).take_while(|value| *value <= self.most)
    }
}

const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 24.0;
const BOTTOM: f64 = TOP + 300.0;
