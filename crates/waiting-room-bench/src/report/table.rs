//! One table, as Markdown, so that it can be pasted where it is needed.

use std::fmt;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};

use super::{
    figure::{NONE, figure, range},
    machine::machine,
};
use crate::{
    case::Group,
    effort::Effort,
    measure::{Counting, count, time},
};

/// A table with its title, its command, its machine, and what one must know to read it.
#[derive(Debug)]
pub(crate) struct Report {
    title: String,
    command: String,
    table: Table,
    notes: Vec<String>,
}

impl Report {
    /// An empty table, made by the subcommand `what`.
    pub(crate) fn new(title: &str, what: &str, effort: Effort, columns: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(columns);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let option = effort.option();
        let command = format!("cargo run --release -p waiting-room-bench -- {what}{option}");
        Self { title: title.to_owned(), command, table, notes: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.add_row(cells);
    }

    /// A row for each case of a group: time, instructions, allocations, and their bytes.
    pub(crate) fn costs(&mut self, group: Group, effort: Effort, counting: Counting) -> Result<()> {
        let cases = group.cases();
        let (times, counts) = (time(cases, effort), count(group, effort, counting)?);
        for ((case, ns), counts) in cases.iter().zip(&times).zip(counts) {
            let [instructions, allocations, bytes] = counts
                .map_or([NONE; 3].map(str::to_owned), |counts| {
                    [counts.instructions, counts.allocations, counts.bytes].map(figure)
                });
            let (name, median) = (case.name.to_owned(), figure(ns.median()));
            self.row([name, median, range(ns), instructions, allocations, bytes]);
        }
        counting.excuse().into_iter().for_each(|excuse| self.note(excuse));
        Ok(())
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n\n`{}`  \n{}\n", self.title, self.command, machine())?;
        writeln!(f, "{}", self.table)?;
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))
    }
}
