//! The reports as a table.

use comfy_table::{CellAlignment, Table, presets};

use super::report::Report;

/// A table with one row for each figure and one column for each run.
pub(crate) fn table(reports: &[Report]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let head = reports.iter().map(|report| format!("{} {}", report.scenario, report.policy));
    table.set_header(std::iter::once(String::new()).chain(head));
    for (name, figure) in FIGURES {
        table.add_row(std::iter::once((*name).to_owned()).chain(reports.iter().map(figure)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with this many decimals, or a dash if there is no value.
fn number(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.decimals$}"))
}

/// A number, or a dash if there is none.
fn count(figure: Option<u64>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string())
}

type Figure = fn(&Report) -> String;

const FIGURES: &[(&str, Figure)] = &[
    ("seed", |report| report.seed.to_string()),
    ("arrivals", |report| report.arrivals.to_string()),
    ("admitted", |report| report.admitted.to_string()),
    ("queued", |report| report.queued.to_string()),
    ("gave_up", |report| report.gave_up.to_string()),
    ("bots_away", |report| report.bots_away.to_string()),
    ("waiting_at_end", |report| report.waiting_at_end.to_string()),
    ("at_the_door_at_end", |report| report.at_the_door_at_end.to_string()),
    ("util_at_first_queue", |report| number(report.util_at_first_queue, 3)),
    ("util_at_first_early_queue", |report| number(report.util_at_first_early_queue, 3)),
    ("early_queued", |report| report.early_queued.to_string()),
    ("early_queued_share", |report| format!("{:.4}", report.early_queued_share)),
    ("early_queued_with_stranded", |report| report.early_queued_with_stranded.to_string()),
    ("util_at_first_early_queue_with_stranded", |report| {
        number(report.util_at_first_early_queue_with_stranded, 3)
    }),
    ("early_slot_seconds", |report| format!("{:.0}", report.early_slot_seconds)),
    ("max_active", |report| report.max_active.to_string()),
    ("max_active_over_limit", |report| format!("{:.3}", report.max_active_over_limit)),
    ("overshoot_user_seconds", |report| format!("{:.0}", report.overshoot_user_seconds)),
    ("max_new_in_fixed_minute_over_limit", |report| {
        format!("{:.3}", report.max_new_in_fixed_minute_over_limit)
    }),
    ("max_new_in_any_minute_over_limit", |report| {
        format!("{:.3}", report.max_new_in_any_minute_over_limit)
    }),
    ("wait_p50_s", |report| number(report.wait_p50_s, 1)),
    ("wait_p95_s", |report| number(report.wait_p95_s, 1)),
    ("wait_error_p50_s", |report| number(report.wait_error_p50_s, 0)),
    ("wait_error_p95_s", |report| number(report.wait_error_p95_s, 0)),
    ("inversions", |report| report.inversions.to_string()),
    ("worst_inversion_s", |report| report.worst_inversion_s.to_string()),
    ("max_waiting", |report| report.max_waiting.to_string()),
    ("answer_p50_ms", |report| report.answer_p50_ms.to_string()),
    ("answer_p95_ms", |report| report.answer_p95_ms.to_string()),
    ("answer_max_ms", |report| report.answer_max_ms.to_string()),
    ("told_to_wait_p95_ms", |report| report.told_to_wait_p95_ms.to_string()),
    ("told_to_wait_max_ms", |report| report.told_to_wait_max_ms.to_string()),
    ("site_trips_per_new", |report| format!("{:.3}", report.site_trips_per_new)),
    ("wan_trips_per_new", |report| format!("{:.3}", report.wan_trips_per_new)),
    ("trips_per_returning", |report| format!("{:.3}", report.trips_per_returning)),
    ("ledger_messages_per_s", |report| format!("{:.0}", report.ledger_messages_per_s)),
    ("max_stranded_slots", |report| report.max_stranded_slots.to_string()),
    ("stranded_slots_at_end", |report| report.stranded_slots_at_end.to_string()),
    ("recovery_s", |report| number(report.recovery_s, 0)),
    ("let_in", |report| count(report.let_in)),
    ("visitors_let_in", |report| count(report.visitors_let_in)),
    ("slow_decisions", |report| count(report.slow_decisions)),
    ("early_answers", |report| count(report.early_answers)),
    ("asking_messages", |report| count(report.asking_messages)),
    ("pages", |report| report.pages.to_string()),
    ("events", |report| report.events.to_string()),
    ("max_present", |report| report.max_present.to_string()),
];
