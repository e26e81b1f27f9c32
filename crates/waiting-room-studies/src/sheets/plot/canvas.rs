//! What all pictures are drawn with.

use svg::{
    Document,
    node::element::{Circle, Line, Text},
};

/// A picture of this height with a title, and with where its figures are from: from these seeds, or
/// from none if they are calculated.
pub(super) fn canvas(seeds: &[u64], title: &str, height: f64) -> Document {
    let picture = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {height}"))
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", 13)
        .set("fill", INK)
        .add(text(title, 16.0, 26.0).set("font-size", 18));
    let names: Vec<_> = seeds.iter().map(u64::to_string).collect();
    match names.as_slice() {
        [] => picture,
        names => picture.add(text(&format!("mean of the seeds {}", names.join(", ")), 16.0, 46.0)),
    }
}

/// Which colour is which column.
pub(super) fn with_legend(mut picture: Document, columns: &[&str]) -> Document {
    let mut x = 16.0;
    for (index, column) in columns.iter().enumerate() {
        let dot = Circle::new().set("cx", x + 5.0).set("cy", 66).set("r", 4);
        picture = picture.add(dot.set("fill", colour(index))).add(text(column, x + 16.0, 70.5));
        x += 44.0 + 7.0 * column.chars().count() as f64;
    }
    picture
}

pub(super) fn text(content: &str, x: f64, y: f64) -> Text {
    Text::new(content).set("x", round(x)).set("y", round(y))
}

pub(super) fn rule(x1: f64, y1: f64, x2: f64, y2: f64) -> Line {
    Line::new()
        .set("x1", round(x1))
        .set("y1", round(y1))
        .set("x2", round(x2))
        .set("y2", round(y2))
        .set("stroke", INK)
        .set("stroke-opacity", 0.35)
}

/// To a tenth of a pixel.
pub(super) fn round(x: f64) -> f64 {
    (10.0 * x).round() / 10.0
}

/// Of a palette that people with any kind of colour vision can tell apart.
pub(super) const fn colour(index: usize) -> &'static str {
    match index {
        0 => "#d55e00",
        1 => "#3b8fd1",
        2 => "#009e73",
        _ => "#b06fa0",
    }
}

pub(super) const WIDTH: f64 = 960.0;
pub(super) const TOP: f64 = 108.0;
pub(super) const INK: &str = "#7d8590";
