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
    ("seed", |it| it.seed.to_string()),
    ("arrivals", |it| it.arrivals.to_string()),
    ("admitted", |it| it.admitted.to_string()),
    ("queued", |it| it.queued.to_string()),
    ("gave_up", |it| it.gave_up.to_string()),
    ("bots_away", |it| it.bots_away.to_string()),
    ("waiting_at_end", |it| it.waiting_at_end.to_string()),
    ("at_the_door_at_end", |it| it.at_the_door_at_end.to_string()),
    ("util_at_first_queue", |it| number(it.util_at_first_queue, 3)),
    ("util_at_first_early_queue", |it| number(it.util_at_first_early_queue, 3)),
    ("early_queued", |it| it.early_queued.to_string()),
    ("early_queued_share", |it| format!("{:.4}", it.early_queued_share)),
    ("early_queued_with_stranded", |it| it.early_queued_with_stranded.to_string()),
    ("util_at_first_early_queue_with_stranded", |it| {
        number(it.util_at_first_early_queue_with_stranded, 3)
    }),
    ("early_slot_seconds", |it| format!("{:.0}", it.early_slot_seconds)),
    ("max_active", |it| it.max_active.to_string()),
    ("max_active_over_limit", |it| format!("{:.3}", it.max_active_over_limit)),
    ("overshoot_user_seconds", |it| format!("{:.0}", it.overshoot_user_seconds)),
    ("max_new_in_fixed_minute_over_limit", |it| {
        format!("{:.3}", it.max_new_in_fixed_minute_over_limit)
    }),
    ("max_new_in_any_minute_over_limit", |it| {
        format!("{:.3}", it.max_new_in_any_minute_over_limit)
    }),
    ("wait_p50_s", |it| number(it.wait_p50_s, 1)),
    ("wait_p95_s", |it| number(it.wait_p95_s, 1)),
    ("wait_error_p50_s", |it| number(it.wait_error_p50_s, 0)),
    ("wait_error_p95_s", |it| number(it.wait_error_p95_s, 0)),
    ("inversions", |it| it.inversions.to_string()),
    ("worst_inversion_s", |it| it.worst_inversion_s.to_string()),
    ("max_waiting", |it| it.max_waiting.to_string()),
    ("answer_p50_ms", |it| it.answer_p50_ms.to_string()),
    ("answer_p95_ms", |it| it.answer_p95_ms.to_string()),
    ("answer_max_ms", |it| it.answer_max_ms.to_string()),
    ("told_to_wait_p95_ms", |it| it.told_to_wait_p95_ms.to_string()),
    ("told_to_wait_max_ms", |it| it.told_to_wait_max_ms.to_string()),
    ("site_trips_per_new", |it| format!("{:.3}", it.site_trips_per_new)),
    ("wan_trips_per_new", |it| format!("{:.3}", it.wan_trips_per_new)),
    ("trips_per_returning", |it| format!("{:.3}", it.trips_per_returning)),
    ("ledger_messages_per_s", |it| format!("{:.0}", it.ledger_messages_per_s)),
    ("max_stranded_slots", |it| it.max_stranded_slots.to_string()),
    ("stranded_slots_at_end", |it| it.stranded_slots_at_end.to_string()),
    ("recovery_s", |it| number(it.recovery_s, 0)),
    ("let_in", |it| count(it.let_in)),
    ("visitors_let_in", |it| count(it.visitors_let_in)),
    ("slow_decisions", |it| count(it.slow_decisions)),
    ("early_answers", |it| count(it.early_answers)),
    ("asking_messages", |it| count(it.asking_messages)),
    ("pages", |it| it.pages.to_string()),
    ("events", |it| it.events.to_string()),
    ("max_present", |it| it.max_present.to_string()),
];
