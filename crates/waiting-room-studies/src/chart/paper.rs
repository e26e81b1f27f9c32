//! The elements of all charts.

use svg::{
    Document,
    node::element::{Circle, Line, Text},
};

/// An empty chart that names the seeds of its figures. Calculated figures have no seeds. `range` is
/// the part of the chart that shows the range of several seeds, if there is one.
pub(super) fn canvas(seeds: &[u64], range: Option<&str>, title: &str, height: f64) -> Document {
    frame(title, source(seeds, range).as_deref(), height)
}

/// The seeds of the figures, as a line below the title.
fn source(seeds: &[u64], range: Option<&str>) -> Option<String> {
    match seeds {
        [] => None,
        [seed] => Some(format!("seed {seed}")),
        seeds => {
            let range = range.map(|it| format!("; {it} spans the least and the greatest"));
            Some(format!("mean of the seeds {}{}", names(seeds), range.unwrap_or_default()))
        }
    }
}

/// The seeds, one by one or as a range.
fn names(seeds: &[u64]) -> String {
    let is_range = seeds.len() > 2 && seeds.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match seeds {
        [first, .., last] if is_range => format!("{first} to {last}"),
        seeds => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
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
pub(super) fn with_legend(mut picture: Document, columns: &[&str]) -> Document {
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

/// A line at a limit.
pub(super) fn limit(x1: f64, y1: f64, x2: f64, y2: f64) -> Line {
    rule(x1, y1, x2, y2).set("stroke-opacity", 1).set("stroke-width", 2)
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
        3 => "#b06fa0",
        4 => "#c79100",
        _ => "#7d8590",
    }
}

/// The width of all charts.
pub(crate) const WIDTH: f64 = 960.0;
/// The height above the figures.
pub(super) const TOP: f64 = 108.0;
pub(super) const INK: &str = "#7d8590";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_is_not_called_a_mean() {
        let source = |seeds: &[u64]| source(seeds, Some("the band")).unwrap_or_default();
        assert_eq!(source(&[]), "");
        assert_eq!(source(&[1]), "seed 1");
        let range = "the band spans the least and the greatest";
        assert_eq!(source(&[1, 2, 3]), format!("mean of the seeds 1 to 3; {range}"));
        assert_eq!(source(&[1, 7]), format!("mean of the seeds 1, 7; {range}"));
    }
}
