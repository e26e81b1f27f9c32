//! A table: policies by figures, with several seeds.

use super::spread::Spread;
use crate::parallel;

/// One table of the study.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    /// In file names.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) columns: &'static [Column],
    pub(crate) lines: Vec<Line>,
}

/// A figure of a sheet, as it is called with its unit, and how many decimals of it mean anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) decimals: usize,
}

/// What was measured of one policy.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// A figure for each column.
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

    /// Of lines, each with its figures by seed.
    pub(crate) fn new(
        (name, title): (&'static str, &'static str),
        columns: &'static [Column],
        lines: impl Iterator<Item = (String, Vec<Vec<f64>>)>,
    ) -> Self {
        let lines = lines.map(|(name, by_seed)| {
            let figure = |column| Spread(by_seed.iter().map(|figures| figures[column]).collect());
            Line { name, figures: (0..columns.len()).map(figure).collect() }
        });
        Self { name, title, columns, lines: lines.collect() }
    }

    /// The figures in the column of this name, of each line that `wanted` says.
    pub(crate) fn figures<'a>(
        &'a self,
        column: &'a str,
        wanted: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a str, &'a Spread)> {
        let index = self.columns.iter().position(|it| it.name == column);
        let index = index.expect("a column of this sheet");
        let lines = self.lines.iter().filter(move |line| wanted(&line.name));
        lines.map(move |line| (line.name.as_str(), &line.figures[index]))
    }
}

impl Column {
    pub(crate) const fn new(name: &'static str, decimals: usize) -> Self {
        Self { name, decimals }
    }
}

/// What is measured of each of `items` with each seed, whatever the threads.
pub(crate) fn measure_each<T: Sync, R: Send>(
    seeds: &[u64],
    items: &[(String, T)],
    measure: impl Fn(&T, u64) -> R + Sync,
) -> Vec<Vec<R>> {
    let runs: Vec<_> =
        items.iter().flat_map(|(_, item)| seeds.iter().map(move |&seed| (item, seed))).collect();
    let mut measured = parallel::map(&runs, |&(item, seed)| measure(item, seed)).into_iter();
    items.iter().map(|_| measured.by_ref().take(seeds.len()).collect()).collect()
}
