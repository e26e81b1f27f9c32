//! Charts: the figures of a sheet as curves or as bars, and the elements of all charts.
//!
//! The background is transparent and the colours are of medium lightness, to be readable on white
//! and on black.

use svg::{
    Document,
    node::element::{Circle, Line, Polyline, Rectangle, Text},
};

use crate::sheet::Sheet;

/// Columns of a sheet whose lines are named by numbers.
pub(crate) struct Curves<'a> {
    pub(crate) sheet: &'a Sheet,
    pub(crate) columns: &'a [&'a str],
    pub(crate) across: Axis,
    pub(crate) up: Axis,
    /// A number on the horizontal axis, and its label.
    pub(crate) mark: Option<(f64, &'static str)>,
}

/// An axis from 0 to `most`, with a number at each step.
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) most: f64,
    pub(crate) step: f64,
}

/// Draws a curve for each column.
pub(crate) fn draw_curves(seeds: &[u64], curves: &Curves<'_>) -> Document {
    let mut picture = canvas(seeds, curves.sheet.title, CURVES_BOTTOM + 56.0);
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
            .add(rule(x, TOP, x, CURVES_BOTTOM))
            .add(text(&value.to_string(), x, CURVES_BOTTOM + 18.0).set("text-anchor", "middle"));
    }
    for value in curves.up.values() {
        let y = curves.y(value);
        picture = picture
            .add(rule(CURVES_LEFT, y, CURVES_RIGHT, y))
            .add(text(&value.to_string(), CURVES_LEFT - 8.0, y + 4.0).set("text-anchor", "end"));
    }
    if let Some((value, name)) = curves.mark {
        let x = curves.x(value);
        picture = picture
            .add(
                rule(x, TOP, x, CURVES_BOTTOM)
                    .set("stroke-dasharray", "5 4")
                    .set("stroke-opacity", 1),
            )
            .add(text(name, x + 6.0, TOP + 14.0).set("fill", INK));
    }
    let middle = f64::midpoint(CURVES_LEFT, CURVES_RIGHT);
    picture
        .add(text(curves.across.name, middle, CURVES_BOTTOM + 40.0).set("text-anchor", "middle"))
        .add(text(curves.up.name, CURVES_LEFT, TOP - 8.0))
}

impl Curves<'_> {
    fn x(&self, value: f64) -> f64 {
        CURVES_LEFT + (CURVES_RIGHT - CURVES_LEFT) * value / self.across.most
    }

    fn y(&self, value: f64) -> f64 {
        CURVES_BOTTOM - (CURVES_BOTTOM - TOP) * value / self.up.most
    }
}

impl Axis {
    fn values(&self) -> impl Iterator<Item = f64> {
        let step = self.step;
        (0..).map(move |number| step * f64::from(number)).take_while(|value| *value <= self.most)
    }
}

/// Columns of a sheet, on an axis whose name is their unit.
pub(crate) struct Bars<'a> {
    pub(crate) sheet: &'a Sheet,
    pub(crate) columns: &'a [&'a str],
    pub(crate) across: Axis,
}

/// Draws a band for each line, with a bar for each column.
pub(crate) fn draw_bars(seeds: &[u64], bars: &Bars<'_>) -> Document {
    let band = 12.0 + BAR_STEP * bars.columns.len() as f64;
    let bottom = TOP + band * bars.sheet.lines.len() as f64;
    let mut picture = canvas(seeds, bars.sheet.title, bottom + 32.0);
    picture = with_legend(picture, bars.columns);
    for value in bars.across.values() {
        let x = bars.place(value);
        picture = picture.add(rule(x, TOP, x, bottom)).add(
            text(&format!("{value} {}", bars.across.name), x, bottom + 18.0)
                .set("text-anchor", "middle"),
        );
    }
    for (number, line) in bars.sheet.lines.iter().enumerate() {
        let top = TOP + band * number as f64;
        picture = picture.add(rule(16.0, top, WIDTH - 16.0, top)).add(text(
            &line.name,
            16.0,
            top + band / 2.0 + 4.5,
        ));
    }
    for (index, column) in bars.columns.iter().enumerate() {
        for (number, (_, figure)) in bars.sheet.figures(column, |_| true).enumerate() {
            let y = TOP + band * number as f64 + 6.0 + BAR_STEP * (index as f64 + 0.5);
            let mean = figure.mean();
            if mean.is_nan() {
                continue;
            }
            let end = bars.place(mean);
            picture = picture
                .add(bar(index, y, end))
                .add(text(&format!("{mean:.1}"), end + 6.0, y + 4.0).set("font-size", 11));
        }
    }
    picture
}

fn bar(index: usize, y: f64, end: f64) -> Rectangle {
    Rectangle::new()
        .set("x", BARS_LEFT)
        .set("y", round(y - 4.5))
        .set("width", round((end - BARS_LEFT).max(1.0)))
        .set("height", 9)
        .set("fill", colour(index))
}

impl Bars<'_> {
    fn place(&self, value: f64) -> f64 {
        BARS_LEFT + BARS_LENGTH * value / self.across.most
    }
}

/// An empty chart that names the seeds of its figures. Calculated figures have no seeds.
fn canvas(seeds: &[u64], title: &str, height: f64) -> Document {
    let names: Vec<_> = seeds.iter().map(u64::to_string).collect();
    let source = match names.as_slice() {
        [] => None,
        names => Some(format!("mean of the seeds {}", names.join(", "))),
    };
    frame(title, source.as_deref(), height)
}

/// An empty chart of this height, with a title and an optional line below it.
pub(crate) fn frame(title: &str, subtitle: Option<&str>, height: f64) -> Document {
    let picture = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {height}"))
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", 13)
        .set("fill", INK)
        .add(text(title, 16.0, 26.0).set("font-size", 18));
    match subtitle {
        Some(subtitle) => picture.add(text(subtitle, 16.0, 46.0)),
        None => picture,
    }
}

/// Draws the legend: the colours of the columns.
fn with_legend(mut picture: Document, columns: &[&str]) -> Document {
    let mut x = 16.0;
    for (index, column) in columns.iter().enumerate() {
        picture = with_name(picture, index, column, x);
        x += 44.0 + 7.0 * column.chars().count() as f64;
    }
    picture
}

/// Draws one name of the legend, after a dot in its colour.
fn with_name(picture: Document, index: usize, name: &str, x: f64) -> Document {
    picture.add(dot(index, x + 5.0, 66.0)).add(text(name, x + 16.0, 70.5))
}

/// A filled dot.
pub(crate) fn dot(index: usize, x: f64, y: f64) -> Circle {
    Circle::new().set("cx", round(x)).set("cy", round(y)).set("r", 4).set("fill", colour(index))
}

/// A text that begins at this point.
pub(crate) fn text(content: &str, x: f64, y: f64) -> Text {
    Text::new(content).set("x", round(x)).set("y", round(y))
}

/// A thin line.
pub(crate) fn rule(x1: f64, y1: f64, x2: f64, y2: f64) -> Line {
    Line::new()
        .set("x1", round(x1))
        .set("y1", round(y1))
        .set("x2", round(x2))
        .set("y2", round(y2))
        .set("stroke", INK)
        .set("stroke-opacity", 0.35)
}

/// Rounds to a tenth of a pixel.
pub(crate) fn round(x: f64) -> f64 {
    (10.0 * x).round() / 10.0
}

/// A colour from a palette for all kinds of colour vision.
pub(crate) const fn colour(index: usize) -> &'static str {
    match index {
        0 => "#d55e00",
        1 => "#3b8fd1",
        2 => "#009e73",
        _ => "#b06fa0",
    }
}

/// The width of all charts.
pub(crate) const WIDTH: f64 = 960.0;
const TOP: f64 = 108.0;
pub(crate) const INK: &str = "#7d8590";
const CURVES_LEFT: f64 = 72.0;
const CURVES_RIGHT: f64 = WIDTH - 24.0;
const CURVES_BOTTOM: f64 = TOP + 300.0;
const BAR_STEP: f64 = 14.0;
const BARS_LEFT: f64 = 280.0;
const BARS_LENGTH: f64 = 620.0;
