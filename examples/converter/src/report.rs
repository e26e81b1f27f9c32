//! What came of the runs: as a table, as files, and judged.

mod bars;
mod files;
mod plot;
mod table;

use std::{error::Error, path::Path};

use comfy_table::Table;

use crate::{cli::Plan, run::Run};

/// All runs, and what was asked of them.
#[derive(Debug)]
pub(crate) struct Report {
    /// The share of the CPU that a gate is to keep.
    cpu: u32,
    clients: u32,
    runs: Vec<Run>,
}

impl Report {
    pub(crate) fn new(plan: &Plan, runs: Vec<Run>) -> Self {
        Self { cpu: plan.cpu, clients: plan.clients, runs }
    }

    /// One column for each run.
    pub(crate) fn table(&self) -> Table {
        table::table(&self.runs)
    }

    /// Writes the runs, their curves and a picture of them, and the directory if there is none.
    ///
    /// # Errors
    ///
    /// Whatever keeps a file from being written.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Box<dyn Error>> {
        files::write(self, directory)
    }

    /// Whether everything was as it was meant to be.
    pub(crate) fn is_met(&self) -> bool {
        self.missed().is_empty()
    }

    /// The same in words.
    pub(crate) fn verdict(&self) -> String {
        match self.missed().as_slice() {
            [] => "every bar was met".to_owned(),
            missed => format!("MISSED: {}", missed.join("; ")),
        }
    }

    fn missed(&self) -> Vec<String> {
        self.runs.iter().flat_map(|run| bars::missed(run, self.cpu)).collect()
    }
}
