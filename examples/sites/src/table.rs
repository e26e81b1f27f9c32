//! The table of runs.

use std::time::Duration;

use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};

use crate::{fault::Fault, trial::Trial};

/// A table with one row for each run.
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

fn row(trial: &Trial) -> [String; 14] {
    let (report, latencies) = (trial.outcome.report(), &trial.latencies);
    let let_in = &trial.admissions;
    let minute = report.new_users_per_minute.map_or_else(|| "∞".to_owned(), |it| it.to_string());
    let p99 = [latencies.pass_p99_calm(), latencies.pass_p99_troubled()].map(millis);
    let load = trial.load.to_possible_value();
    [
        match (trial.fault, load) {
            (Fault::None, Some(load)) => {
                format!("none, {} load, {:?}", load.get_name(), trial.policy).to_lowercase()
            }
            (fault, _) => fault.name(),
        },
        format!("{} / {} / {}", let_in.before, let_in.meanwhile, let_in.after),
        format!("{} / {}", report.max_active, report.total_active_users),
        format!("{} / {minute}", report.max_new_in_any_60s),
        report.queued_while_free.to_string(),
        seconds(trial.out_of_order),
        trial.places_lost.to_string(),
        trial.passes_interrupted.to_string(),
        p99.join(" / "),
        format!("{:.2}", trial.wan_per_admission()),
        format!("{:.2}", trial.per_admission(trial.sent)),
        trial.without_ledger.map_or_else(|| "–".to_owned(), seconds),
        trial.outcome.failures().to_string(),
        match trial.violations().as_slice() {
            [] => "yes".to_owned(),
            broken => broken.join(", "),
        },
    ]
}

fn millis(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1_000.0)
}

fn seconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}

const HEADER: [&str; 14] = [
    "fault",
    "let in before / meanwhile / after",
    "active",
    "new in 60 s",
    "early",
    "out of order by, s",
    "places lost",
    "passes interrupted",
    "p99 with a pass, ms: calm / meanwhile",
    "slower than the WAN, of each admission",
    "sent to ledgers, of each admission",
    "without a ledger, s",
    "no answer",
    "kept",
];
