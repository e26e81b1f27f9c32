//! Percentages of each policy, as bars.

use svg::{Document, node::element::Rectangle};

use super::canvas::{TOP, WIDTH, canvas, colour, round, rule, text, with_legend};
use crate::gate::{sheet::Sheet, study::Study};

/// Columns of a sheet, from 0 to 100.
pub(super) struct Bars<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) columns: &'a [&'a str],
}

/// A band for each policy, with a bar for each column.
pub(super) fn draw_bars(study: &Study, bars: &Bars<'_>) -> Document {
    let band = 12.0 + LINE * bars.columns.len() as f64;
    let bottom = TOP + band * bars.sheet.lines.len() as f64;
    let mut picture = canvas(study, bars.sheet.title, bottom + 32.0);
    picture = with_legend(picture, bars.columns);
    for percent in [0, 25, 50, 75, 100] {
        let x = place(f64::from(percent));
        picture = picture
            .add(rule(x, TOP, x, bottom))
            .add(text(&format!("{percent} %"), x, bottom + 18.0).set("text-anchor", "middle"));
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
            let (mean, end) = (figure.mean(), place(figure.mean()));
            picture = picture
                .add(bar(index, y, end))
                .add(text(&format!("{mean:.1}"), end + 6.0, y + 4.0).set("font-size", 11));
        }
    }
    picture
}

fn bar(index: usize, y: f64, end: f64) -> Rectangle {
    Rectangle::new()
        .set("x", round(place(0.0)))
        .set("y", round(y - 4.5))
        .set("width", round((end - place(0.0)).max(1.0)))
        .set("height", 9)
        .set("fill", colour(index))
}

fn place(percent: f64) -> f64 {
    280.0 + 6.2 * percent
}

const LINE: f64 = 14.0;
