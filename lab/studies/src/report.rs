//! Prints the reports of days as a table, and the broken promises.

use std::{
    io::{self, Write},
    iter,
};

use comfy_table::{CellAlignment, Table, presets};
use waiting_room_sim::{EventReport, Report};

/// A table with one row for each figure and one column for each run.
pub(crate) fn table(reports: &[Report]) -> Table {
    let seeds =
        reports.iter().map(|report| report.seed.map_or_else(String::new, |seed| seed.to_string()));
    let head = iter::once("seed".to_owned()).chain(seeds);
    let rows = FIGURES.iter().map(|(name, figure)| {
        iter::once((*name).to_owned()).chain(reports.iter().map(figure)).collect()
    });
    markdown(head, rows, 1)
}

/// A table in Markdown. The first columns are texts, the others numbers.
pub(crate) fn markdown(
    head: impl IntoIterator<Item = String>,
    rows: impl IntoIterator<Item = Vec<String>>,
    texts: usize,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(head).add_rows(rows);
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Prints to standard output. It is no error if the reader has closed the pipe.
pub(crate) fn say(what: impl std::fmt::Display) -> io::Result<()> {
    match writeln!(io::stdout(), "{what}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

/// Prints the broken promises to standard error, with the first examples.
pub(crate) fn print_violations(report: &Report) {
    let violations = report.violations();
    if violations.is_empty() {
        return;
    }
    eprintln!("seed {:?}: broken: {}", report.seed, violations.join(", "));
    for alarm in &report.alarms {
        eprintln!("  {alarm:?}");
    }
}

/// A figure of the event, if there was one.
fn of_event(report: &Report, figure: fn(&EventReport) -> u64) -> String {
    report.event.as_ref().map_or_else(|| "–".to_owned(), |event| figure(event).to_string())
}

type Figure = fn(&Report) -> String;

const FIGURES: &[(&str, Figure)] = &[
    ("total_active_users", |report| report.total_active_users.to_string()),
    ("new_users_per_minute", |report| {
        report
            .new_users_per_minute
            .map_or_else(|| "unlimited".to_owned(), |users| users.to_string())
    }),
    ("session_duration_s", |report| report.session_duration_s.to_string()),
    ("visitors", |report| report.visitors.to_string()),
    ("admitted", |report| report.admitted.to_string()),
    ("refused", |report| report.refused.to_string()),
    ("abandoned", |report| report.abandoned.to_string()),
    ("max_active", |report| report.max_active.to_string()),
    ("max_new_in_any_60s", |report| report.max_new_in_any_60s.to_string()),
    ("queued_while_free", |report| report.queued_while_free.to_string()),
    ("order_inversions", |report| report.order_inversions.to_string()),
    ("lost_places", |report| report.lost_places.to_string()),
    ("position_rises", |report| report.position_rises.to_string()),
    ("event_early", |report| of_event(report, |event| event.event_early)),
    ("draw_mismatches", |report| of_event(report, |event| event.draw_mismatches)),
    ("entrants", |report| of_event(report, |event| event.entrants)),
    ("wait_p50_s", |report| format!("{:.1}", report.wait_p50_s)),
    ("wait_p95_s", |report| format!("{:.1}", report.wait_p95_s)),
    ("wait_max_s", |report| format!("{:.1}", report.wait_max_s)),
    ("requests", |report| report.requests.to_string()),
    ("answers", |report| report.answers.to_string()),
];
