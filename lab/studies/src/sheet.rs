//! Tables of figures, with one value per seed: one line for each policy, one column for each
//! figure.

use std::{error::Error, iter};

use comfy_table::Table;
use rayon::prelude::*;

use crate::report::markdown;

/// One table of a study.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    /// The name in file names.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The heading of the lines in the file.
    pub(crate) what: &'static str,
    pub(crate) columns: &'static [Column],
    pub(crate) lines: Vec<Line>,
}

/// A figure of a sheet: its name with its unit, and its number of significant decimals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) decimals: usize,
}

/// The figures of one policy.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// One figure for each column.
    pub(crate) figures: Vec<Spread>,
}

impl Sheet {
    /// Measures each of `items` with each seed.
    pub(crate) fn measure<T: Sync>(
        head: (&'static str, &'static str),
        columns: &'static [Column],
        seeds: &[u64],
        items: &[(String, T)],
        measure: impl Fn(&T, u64) -> Vec<f64> + Sync,
    ) -> Self {
        let measured = measure_each(seeds, items, measure);
        let names = items.iter().map(|(name, _)| name.clone());
        Self::new(head, columns, names.zip(measured))
    }

    /// Creates a sheet from lines, each with its figures by seed.
    pub(crate) fn new(
        (name, title): (&'static str, &'static str),
        columns: &'static [Column],
        lines: impl Iterator<Item = (String, Vec<Vec<f64>>)>,
    ) -> Self {
        let lines = lines.map(|(name, by_seed)| {
            let figure = |column| Spread(by_seed.iter().map(|figures| figures[column]).collect());
            Line { name, figures: (0..columns.len()).map(figure).collect() }
        });
        Self { name, title, what: "policy", columns, lines: lines.collect() }
    }

    /// Returns those of the study's seeds with which this sheet was measured.
    pub(crate) fn seeds_of<'a>(&self, seeds: &'a [u64]) -> &'a [u64] {
        let count = self.lines.first().and_then(|line| line.figures.first());
        &seeds[..count.map_or(0, |figure| figure.0.len())]
    }

    /// Names what the lines stand for, instead of policies.
    pub(crate) fn by(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

    /// Returns whether the lines are times, so that the sheet is drawn but not printed.
    pub(crate) fn is_course(&self) -> bool {
        matches!(self.what, "minute" | "second")
    }

    /// Returns the figures in this column, for each line that `wanted` selects.
    pub(crate) fn figures<'a>(
        &'a self,
        column: &'a str,
        wanted: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a str, &'a Spread)> {
        let index = self.index(column);
        let lines = self.lines.iter().filter(move |line| wanted(&line.name));
        lines.map(move |line| (line.name.as_str(), &line.figures[index]))
    }

    /// The number of significant decimals in this column.
    pub(crate) fn decimals(&self, column: &str) -> usize {
        self.columns[self.index(column)].decimals
    }

    fn index(&self, column: &str) -> usize {
        let index = self.columns.iter().position(|entry| entry.name == column);
        index.expect("a column of this sheet")
    }
}

impl Column {
    pub(crate) const fn new(name: &'static str, decimals: usize) -> Self {
        Self { name, decimals }
    }
}

/// Measures each of `items` with each seed, in parallel. The order of the results is that of
/// `items` and `seeds`.
pub(crate) fn measure_each<T: Sync, R: Send>(
    seeds: &[u64],
    items: &[(String, T)],
    measure: impl Fn(&T, u64) -> R + Sync,
) -> Vec<Vec<R>> {
    let runs: Vec<_> =
        items.iter().flat_map(|(_, item)| seeds.iter().map(move |&seed| (item, seed))).collect();
    let measured: Vec<_> = runs.par_iter().map(|&(item, seed)| measure(item, seed)).collect();
    let mut measured = measured.into_iter();
    items.iter().map(|_| measured.by_ref().take(seeds.len()).collect()).collect()
}

/// The values of a figure, one for each seed. A value that could not be measured is not a number.
#[derive(Clone, Debug)]
pub(crate) struct Spread(pub(crate) Vec<f64>);

impl Spread {
    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The minimum. Not a number if any value is, because a value that was not measured may be
    /// lower.
    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).map_or(f64::NAN, |least| self.known(least))
    }

    /// The maximum. Not a number if any value is.
    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().reduce(f64::max).map_or(f64::NAN, |most| self.known(most))
    }

    fn known(&self, figure: f64) -> f64 {
        if self.mean().is_nan() { f64::NAN } else { figure }
    }

    /// The mean, and the largest distance of a seed from it. If the figure exists with some seeds
    /// only, it is that of these seeds, whose number is added.
    pub(crate) fn text(&self, decimals: usize) -> String {
        let known = Self(self.0.iter().copied().filter(|figure| !figure.is_nan()).collect());
        let of_all = match known.0.len() {
            0 => return "–".to_owned(),
            count if count < self.0.len() => format!(" in {count} of {}", self.0.len()),
            _ => String::new(),
        };
        let mean = known.mean();
        let off = (known.most() - mean).max(mean - known.least());
        if known.0.len() == 1 {
            return format!("{mean:.decimals$}{of_all}");
        }
        format!("{mean:.decimals$} ±{off:.decimals$}{of_all}")
    }
}

/// A table with one row for each line of the sheet, and the mean of each figure.
pub(crate) fn table(sheet: &Sheet) -> Table {
    let head = sheet.columns.iter().map(|column| column.name.to_owned());
    let rows = sheet.lines.iter().map(|line| {
        let figures = line.figures.iter().zip(sheet.columns);
        let figures = figures.map(|(figure, column)| figure.text(column.decimals));
        iter::once(line.name.clone()).chain(figures).collect()
    });
    markdown(iter::once(String::new()).chain(head), rows, 1)
}

/// A CSV file with one row for each line of the sheet and each of its seeds, with all decimals.
///
/// # Errors
///
/// The file cannot be created.
pub(crate) fn csv(sheet: &Sheet, seeds: &[u64]) -> Result<String, Box<dyn Error>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(
        [sheet.what, "seed"].into_iter().chain(sheet.columns.iter().map(|column| column.name)),
    )?;
    for line in &sheet.lines {
        for (index, seed) in sheet.seeds_of(seeds).iter().enumerate() {
            let figures = line.figures.iter().map(|figure| number(figure.0[index]));
            file.write_record([line.name.clone(), seed.to_string()].into_iter().chain(figures))?;
        }
    }
    Ok(String::from_utf8(file.into_inner()?)?)
}

/// Rounds to a thousandth. Returns an empty text if there is no value.
fn number(figure: f64) -> String {
    if figure.is_nan() { String::new() } else { format!("{}", (1e3 * figure).round() / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_its_mean_and_the_farthest_seed() {
        assert_eq!(Spread(vec![1.0, 2.0, 6.0]).text(1), "3.0 ±3.0");
        assert_eq!(Spread(vec![1.25]).text(1), "1.2");
        assert_eq!(Spread(vec![f64::NAN, f64::NAN]).text(1), "–");
        assert_eq!(Spread(vec![f64::NAN, 1.0]).text(1), "1.0 in 1 of 2");
        assert_eq!(Spread(vec![3.0, f64::NAN, 1.0]).text(1), "2.0 ±1.0 in 2 of 3");
    }
}
