//! Bars, with the range of the seeds.

use svg::{Document, node::element::Rectangle};

use super::paper::{Axis, INK, TOP, WIDTH, canvas, colour, limit, round, rule, text, with_legend};
use crate::sheet::{Sheet, Spread};

/// Bars in one or more panels, side by side. The sheets of all panels have the same lines.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    pub(crate) panels: &'a [Panel<'a>],
}

/// Columns of a sheet, in one unit.
pub(crate) struct Panel<'a> {
    pub(crate) sheet: &'a Sheet,
    pub(crate) columns: &'a [&'a str],
    pub(crate) unit: &'static str,
    /// A title, if there are several panels.
    pub(crate) title: Option<&'static str>,
    /// A limit in this unit, and its label.
    pub(crate) limit: Option<(f64, &'static str)>,
}

/// Draws a band for each line, with a bar for each column: the mean of the seeds, and a thin line
/// from the least seed to the greatest. Columns with the same name have the same colour.
pub(crate) fn draw_bars(seeds: &[u64], bars: &Bars<'_>) -> Document {
    let lines = &bars.panels[0].sheet.lines;
    let rows = bars.panels.iter().map(|panel| panel.columns.len()).max().unwrap_or(0);
    let band = 12.0 + BAR_STEP * rows as f64;
    let bottom = TOP + band * lines.len() as f64;
    let names = bars.names();
    let mut picture = canvas(seeds, Some("the thin line"), bars.title, bottom + 32.0);
    picture = with_legend(picture, &names);
    for (number, line) in lines.iter().enumerate() {
        let top = TOP + band * number as f64;
        let middle = top + band / 2.0 + 4.5;
        picture =
            picture.add(rule(16.0, top, WIDTH - 16.0, top)).add(text(&line.name, 16.0, middle));
    }
    let room = (WIDTH - LEFT) / bars.panels.len() as f64;
    for (number, panel) in bars.panels.iter().enumerate() {
        let left = LEFT + room * number as f64;
        let drawn = Drawn {
            panel,
            axis: panel.axis(),
            left,
            length: room - LABEL,
            band,
            bottom,
            names: &names,
        };
        picture = drawn.add_to(picture);
    }
    picture
}

impl<'a> Bars<'a> {
    /// The names in the legend.
    fn names(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        for column in self.panels.iter().flat_map(|panel| panel.columns) {
            if !names.contains(column) {
                names.push(*column);
            }
        }
        names
    }
}

impl Panel<'_> {
    /// An axis for the greatest seed of all bars, and for the limit.
    fn axis(&self) -> Axis {
        let figures = self.columns.iter().flat_map(|column| self.sheet.figures(column, |_| true));
        let greatest = figures.map(|(_, figure)| figure.most()).filter(|most| !most.is_nan());
        let greatest = greatest.chain(self.limit.map(|(limit, _)| limit));
        Axis::fitting(self.unit, greatest.fold(0.0, f64::max))
    }
}

/// A panel at its place.
struct Drawn<'a> {
    panel: &'a Panel<'a>,
    axis: Axis,
    left: f64,
    length: f64,
    band: f64,
    bottom: f64,
    names: &'a [&'a str],
}

impl Drawn<'_> {
    fn add_to(&self, mut picture: Document) -> Document {
        for value in self.axis.ticks() {
            let x = self.x(value);
            let label = format!("{value} {}", self.axis.name);
            picture = picture
                .add(rule(x, TOP, x, self.bottom))
                .add(text(&label, x, self.bottom + 18.0).set("text-anchor", "middle"));
        }
        for (row, column) in self.panel.columns.iter().enumerate() {
            let sheet = self.panel.sheet;
            let decimals = sheet.decimals(column).min(MAX_DECIMALS);
            let index = self.names.iter().position(|name| name == column).unwrap_or(0);
            for (number, (_, figure)) in sheet.figures(column, |_| true).enumerate() {
                let y = TOP + self.band * number as f64 + 6.0 + BAR_STEP * (row as f64 + 0.5);
                if !figure.mean().is_nan() {
                    picture = self.bar(picture, index, y, figure, decimals);
                }
            }
        }
        if let Some(title) = self.panel.title {
            picture = picture.add(text(title, self.left, TOP - 8.0));
        }
        match self.panel.limit {
            Some((value, name)) => {
                let x = self.x(value);
                let label = text(name, x, TOP - 8.0).set("text-anchor", "middle");
                picture.add(limit(x, TOP - 4.0, x, self.bottom)).add(label)
            }
            None => picture,
        }
    }

    fn bar(
        &self,
        picture: Document,
        index: usize,
        y: f64,
        figure: &Spread,
        decimals: usize,
    ) -> Document {
        let [least, mean, most] = [figure.least(), figure.mean(), figure.most()];
        let [from, end, to] = [least, mean, most].map(|value| self.x(value));
        let bar = Rectangle::new()
            .set("x", round(self.left))
            .set("y", round(y - 4.5))
            .set("width", round((end - self.left).max(1.0)))
            .set("height", 9)
            .set("fill", colour(index));
        let mut picture = picture.add(bar);
        if to - from > 1.0 {
            // The part inside the bar is light, because the bar has a colour of its own.
            let inside = |x1, y1, x2, y2| {
                rule(x1, y1, x2, y2).set("stroke", "#ffffff").set("stroke-opacity", 0.9)
            };
            let outside = |x1, y1, x2, y2| rule(x1, y1, x2, y2).set("stroke-opacity", 1);
            picture = picture
                .add(inside(from, y, end, y))
                .add(inside(from, y - 3.0, from, y + 3.0))
                .add(outside(end, y, to, y))
                .add(outside(to, y - 3.0, to, y + 3.0));
        }
        let label = text(&format!("{mean:.decimals$}"), to.max(end) + 6.0, y + 4.0);
        picture.add(label.set("font-size", 11).set("fill", INK))
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.length * self.axis.place(value)
    }
}

const BAR_STEP: f64 = 14.0;
const LEFT: f64 = 280.0;
/// The space for the number at the end of the longest bar.
const LABEL: f64 = 60.0;
/// The maximum number of decimals of the number at a bar.
const MAX_DECIMALS: usize = 1;
