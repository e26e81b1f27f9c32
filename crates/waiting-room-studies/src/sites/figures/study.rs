//! All tables, with all seeds.

use super::{bars, delays, tables};
use crate::sheets::{Bar, Sheet};

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    pub(super) seeds: Vec<u64>,
    pub(super) sheets: Vec<Sheet>,
}

/// How long it all takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// As in the documentation.
    Full,
    /// What the bars need, and nothing else.
    Quick,
}

impl Study {
    /// Runs everything. The result depends on the seeds and the size, not on the threads.
    pub(crate) fn run(seeds: &[u64], size: Size) -> Self {
        let mut sheets = vec![tables::first_queue(seeds), tables::spike(seeds)];
        sheets.extend([delays::delays(seeds), delays::turn(seeds)]);
        sheets.push(tables::dead_site(seeds));
        if size == Size::Full {
            sheets.extend(seeds.first().map(|&seed| tables::two_days(seed)));
            sheets.push(tables::curve());
            sheets.extend(tables::ramp(seeds));
            sheets.extend([tables::movement(seeds), tables::cut_site(seeds)]);
        }
        Self { seeds: seeds.to_vec(), sheets }
    }

    /// What the policies are known for, and whether it is so.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        bars::bars(self)
    }

    /// The table of this name.
    pub(super) fn sheet(&self, name: &str) -> Option<&Sheet> {
        self.sheets.iter().find(|sheet| sheet.name == name)
    }

    /// The seeds that a table has a value for each of.
    pub(super) fn seeds_of(&self, sheet: &Sheet) -> &[u64] {
        let count = sheet.lines.first().and_then(|line| line.figures.first());
        let count = count.map_or(0, |figure| figure.0.len());
        if sheet.name == "curve" { &[] } else { &self.seeds[..count] }
    }
}
