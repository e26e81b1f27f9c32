//! The table of faults.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use crate::trial::Trial;

/// A table with one row for each fault.
pub(crate) fn table(trials: &[Trial]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(HEADER);
    for trial in trials {
        table.add_row(row(trial));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(trial: &Trial) -> [String; 13] {
    let report = trial.outcome.report();
    let latencies = &trial.latencies;
    let let_in = &trial.admissions;
    let minute =
        report.new_users_per_minute.map_or_else(|| "∞".to_owned(), |limit| limit.to_string());
    let p99 = [latencies.pass_p99_calm(), latencies.pass_p99_troubled()].map(millis);
    [
        trial.fault.name(),
        format!("{} / {} / {}", let_in.before, let_in.meanwhile, let_in.after),
        format!("{} / {}", report.max_active, report.total_active_users),
        format!("{} / {minute}", report.max_new_in_any_60s),
        report.queued_while_free.to_string(),
        report.order_inversions.to_string(),
        trial.places_lost.to_string(),
        trial.passes_interrupted.to_string(),
        p99.join(" / "),
        format!("{} of {}", trial.decisions_late, latencies.decisions()),
        trial.outcome.failures().to_string(),
        format!("{:.1} s", trial.undecided_after.as_secs_f64()),
        match trial.violations().as_slice() {
            [] => "yes".to_owned(),
            broken => broken.join(", "),
        },
    ]
}

fn millis(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1_000.0)
}

const HEADER: [&str; 13] = [
    "fault",
    "let in before / meanwhile / after",
    "active",
    "new in 60 s",
    "early",
    "inversions",
    "places lost",
    "passes interrupted",
    "p99 with a pass, ms: calm / meanwhile",
    "late decisions",
    "no answer",
    "decides again after",
    "kept",
];
