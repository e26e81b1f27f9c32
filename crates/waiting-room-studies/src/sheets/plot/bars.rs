//! Figures of each line, as bars.

use svg::{Document, node::element::Rectangle};

use super::{
    canvas::{TOP, WIDTH, canvas, colour, round, rule, text, with_legend},
    curves::Axis,
};
use crate::sheets::Sheet;

/// Columns of a sheet, on an axis whose name is their unit.
pub(crate) struct Bars<'a> {
    pub(crate) sheet: &'a Sheet,
    pub(crate) columns: &'a [&'a str],
    pub(crate) across: Axis,
}

/// A band for each line, with a bar for each column.
pub(crate) fn draw_bars(seeds: &[u64], bars: &Bars<'_>) -> Document {
    let band = 12.0 + LINE * bars.columns.len() as f64;
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
            let y = TOP + band * number as f64 + 6.0 + LINE * (index as f64 + 0.5);
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
        .set("x", LEFT)
        .set("y", round(y - 4.5))
        .set("width", round((end - LEFT).max(1.0)))
        .set("height", 9)
        .set("fill", colour(index))
}

impl Bars<'_> {
    fn place(&self, value: f64) -> f64 {
        LEFT + LENGTH * value / self.across.most
    }
}

const LINE: f64 = 14.0;
const LEFT: f64 = 280.0;
const LENGTH: f64 = 620.0;
