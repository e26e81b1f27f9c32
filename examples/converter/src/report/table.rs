//! The runs side by side.

use comfy_table::{CellAlignment, Table, presets};

use crate::run::Run;

/// One column for each run.
pub(super) fn table(runs: &[Run]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names = runs.iter().map(|run| run.way.name().to_owned());
    table.set_header(std::iter::once(String::new()).chain(names));
    for (name, value) in ROWS {
        table.add_row(std::iter::once((*name).to_owned()).chain(runs.iter().map(value)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn fewest_and_most(run: &Run) -> String {
    let (fewest, most) = run.seen.fewest_and_most();
    format!("{fewest} to {most}")
}

type Row = (&'static str, fn(&Run) -> String);

const ROWS: &[Row] = &[
    ("CPU of the server", |run| format!("{:.1} %", run.curve.server())),
    ("CPU of others", |run| {
        run.curve.others().map_or_else(|| "–".to_owned(), |others| format!("{others:.1} %"))
    }),
    ("pictures", |run| run.seen.served().to_string()),
    ("pictures for each client", fewest_and_most),
    ("wait, half of them", |run| format!("{:.0} ms", run.seen.waits().p50_ms)),
    ("wait, 99 in 100", |run| format!("{:.0} ms", run.seen.waits().p99_ms)),
    ("let in out of order", |run| run.let_in.overtaken.to_string()),
    ("finished behind later ones, at most", |run| run.finished.by_at_most.to_string()),
    ("refused (429)", |run| run.seen.refused.to_string()),
    ("timed out (504)", |run| run.seen.timed_out.to_string()),
    ("never served", |run| run.seen.unserved.to_string()),
    ("/healthz, half of them", |run| format!("{:.1} ms", run.seen.health().p50_ms)),
    ("/healthz, 99 in 100", |run| format!("{:.1} ms", run.seen.health().p99_ms)),
];
