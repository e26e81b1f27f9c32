//! The outcome of a run, as a table.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use waiting_room_sim::Report;

use crate::witness::Witness;

/// The room as the visitors saw it. [`Display`](fmt::Display) shows what was seen next to what was
/// promised, and then the verdict.
#[derive(Clone, Debug)]
pub struct Outcome {
    report: Report,
    /// The number of requests without an answer.
    failures: u64,
}

impl Outcome {
    /// Collects what a witness recorded. Call this after the run.
    #[must_use]
    pub fn new(witness: &Witness, seed: u64) -> Self {
        Self { report: witness.report().with_seed(seed), failures: witness.failures() }
    }

    /// The report of the oracle.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The number of requests without an answer.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    fn table(&self) -> Table {
        let report = &self.report;
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["", "seen", "promised"]);
        let minute = report.new_users_per_minute.map(|limit| format!("≤ {limit}"));
        let active = format!("≤ {}", report.total_active_users);
        let none = || "0".to_owned();
        let seconds = |seconds: f64| format!("{seconds:.1} s");
        for (name, seen, promised) in [
            ("visitors", report.visitors.to_string(), String::new()),
            ("let in", report.admitted.to_string(), String::new()),
            ("sent away", report.refused.to_string(), String::new()),
            ("gave up", report.abandoned.to_string(), String::new()),
            ("requests", report.requests.to_string(), String::new()),
            ("without an answer", self.failures.to_string(), String::new()),
            ("wait, half of them", seconds(report.wait_p50_s), String::new()),
            ("wait, 95 in 100", seconds(report.wait_p95_s), String::new()),
            ("wait, the longest", seconds(report.wait_max_s), String::new()),
            ("active at once", report.max_active.to_string(), active),
            ("new in any 60 s", report.max_new_in_any_60s.to_string(), minute.unwrap_or_default()),
            ("queued while a slot was free", report.queued_while_free.to_string(), none()),
            ("let in out of order", report.order_inversions.to_string(), none()),
            ("places lost", report.lost_places.to_string(), none()),
            ("positions that rose", report.position_rises.to_string(), none()),
            ("seed", report.seed.map_or(String::new(), |seed| seed.to_string()), String::new()),
        ] {
            table.add_row([name.to_owned(), seen, promised]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.table())?;
        for alarm in &self.report.alarms {
            writeln!(f, "{alarm:?}")?;
        }
        match self.report.violations().as_slice() {
            [] => write!(f, "every promise was kept"),
            violations => write!(f, "BROKEN: {}", violations.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use waiting_room_sim::{Limits, Seen, VisitorNo};

    use super::*;
    use crate::{flight::Flight, trips::Purpose, witness::Fate};

    #[test]
    fn a_broken_promise_is_named_below_the_table() {
        // A room with one slot that admits two visitors.
        let witness = Arc::new(Witness::new(Limits {
            total_active_users: 1,
            new_users_per_minute: Some(5),
            session_duration: Duration::from_secs(60),
            place_retention: Duration::from_secs(300),
            refresh_interval: Duration::from_secs(20),
        }));
        for number in [1, 2] {
            witness.came();
            Flight::departs(&witness, VisitorNo(number), Purpose::GetIn).answered(Seen::Admitted);
            witness.gone(Fate::Admitted);
        }
        drop(Flight::departs(&witness, VisitorNo(3), Purpose::GetIn));
        let outcome = Outcome::new(&witness, 7);
        let report = outcome.report();
        assert_eq!((report.visitors, report.seed, outcome.failures()), (2, Some(7), 1));
        let shown = outcome.to_string();
        let row = shown.lines().find(|line| line.contains("active at once")).unwrap();
        let row: Vec<_> = row.split_whitespace().collect();
        assert_eq!(row.join(" "), "| active at once | 2 | ≤ 1 |");
        assert!(shown.ends_with("BROKEN: max_active"), "{shown}");
    }
}
