//! The elements of all charts, and their scales.

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
            let range = range.map(|range| format!("; {range} spans the least and the greatest"));
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

/// An axis with a number at each tick.
pub(crate) struct Axis {
    pub(super) name: &'static str,
    /// The numbers at the axis, in ascending order. The first and the last are its ends.
    ticks: Vec<f64>,
    is_logarithmic: bool,
}

impl Axis {
    /// An axis from 0 to `most`, with a tick at each step.
    pub(crate) fn new(name: &'static str, most: f64, step: f64) -> Self {
        Self::between(name, 0.0, most, step)
    }

    /// An axis from `least` to `most`, with a tick at each step.
    pub(crate) fn between(name: &'static str, least: f64, most: f64, step: f64) -> Self {
        let ticks = (0..).map(|number| least + step * f64::from(number));
        let ticks: Vec<_> = ticks.take_while(|tick| *tick <= most + step / 1e6).collect();
        Self { name, ticks, is_logarithmic: false }
    }

    /// An axis from 0 to a round number that is not less than `most`, except for a hair.
    pub(crate) fn fitting(name: &'static str, most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let digit = 10_f64.powf((most / MAX_STEPS).log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * digit);
        let step = steps.into_iter().find(|step| most / step <= MAX_STEPS + HAIR).unwrap_or(most);
        Self::new(name, (most / step - HAIR).ceil() * step, step)
    }

    /// A logarithmic axis with these ticks, which are more than 0.
    pub(crate) fn logarithmic(name: &'static str, ticks: &[f64]) -> Self {
        Self { name, ticks: ticks.to_vec(), is_logarithmic: true }
    }

    /// The numbers at the axis.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        self.ticks.iter().copied()
    }

    /// The position of a value: 0 is the beginning of the axis, and 1 is its end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let ends = [self.ticks.first(), self.ticks.last()].map(|end| scale(*end.unwrap_or(&1.0)));
        (scale(value) - ends[0]) / (ends[1] - ends[0])
    }
}

/// The maximum number of steps of an axis that fits its values.
const MAX_STEPS: f64 = 5.0;

/// The part of a step by which a value may be beyond the end of the axis.
const HAIR: f64 = 0.02;

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

    #[test]
    fn an_axis_fits_its_greatest_value() {
        let cases = [
            (42.2, vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0]),
            (100.1, vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
            (1_195.0, vec![0.0, 250.0, 500.0, 750.0, 1_000.0, 1_250.0]),
            (0.0, vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ];
        for (most, expected) in cases {
            let ticks: Vec<_> = Axis::fitting("%", most).ticks().collect();
            assert_eq!(ticks.len(), expected.len(), "{most}: {ticks:?}");
            let is_near = |(tick, expected): (&f64, f64)| (tick - expected).abs() < 1e-9;
            assert!(ticks.iter().zip(expected).all(is_near), "{most}: {ticks:?}");
        }
    }

    #[test]
    fn a_logarithmic_axis_has_the_same_space_for_each_factor() {
        let axis = Axis::logarithmic("sites", &[10.0, 100.0, 1_000.0]);
        let places = [10.0, 100.0, 1_000.0].map(|value| axis.place(value));
        assert!(
            places.iter().zip([0.0, 0.5, 1.0]).all(|(actual, place)| (actual - place).abs() < 1e-9)
        );
        let axis = Axis::new("visitors", 200.0, 50.0);
        assert!((axis.place(150.0) - 0.75).abs() < 1e-9);
    }
}
