//! The outcome of a run, as a table or as JSON.

use std::{
    io::{self, Write},
    time::Duration,
};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use waiting_room_sim::{DrawBias, Report};

use super::{
    sale::{SaleOutcome, SalePlan},
    witness::{OneAddress, Witness},
};
use crate::room::RecoveryName;

/// The room as the visitors saw it.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(super) report: Report,
    pub(super) restart: Option<Restart>,
    /// Only for a crowd from one address.
    pub(super) one_address: Option<OneAddress>,
    /// Only for a sale.
    pub(super) sale: Option<SaleOutcome>,
    /// The number of requests without an answer.
    pub(super) failures: u64,
    pub(super) form: Form,
}

/// The time and the kind of a restart of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Restart {
    pub(super) at: Duration,
    pub(super) recovery: RecoveryName,
}

/// The form in which the outcome is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is one form for people and one for programs")]
pub enum Form {
    /// One object on standard output, and the table on standard error.
    Json,
    /// A table on standard output.
    Table,
}

/// The report as a JSON object.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    failed_requests: u64,
    restart_at_s: Option<f64>,
    refused_by_limits: Option<u64>,
    first_position_p95_s: Option<f64>,
    #[serde(flatten)]
    sale: Option<SaleFigures>,
    violations: Vec<&'static str>,
}

/// The figures of a sale in a JSON object.
#[derive(Serialize)]
struct SaleFigures {
    draw_bias_p: f64,
    draws_recomputed: u64,
    draws_not_recomputed: u64,
    idle_slot_seconds: f64,
    idle_slot_share: f64,
    idle_for_polls_slot_seconds: f64,
    slot_seconds: f64,
}

impl SaleFigures {
    fn new(sale: &SaleOutcome) -> Self {
        Self {
            draw_bias_p: sale.bias.p,
            draws_recomputed: sale.draw.recomputed,
            draws_not_recomputed: sale.draw.mismatches,
            idle_slot_seconds: sale.idle.for_push,
            idle_slot_share: sale.idle.share(),
            idle_for_polls_slot_seconds: sale.idle.for_polls,
            slot_seconds: sale.idle.total,
        }
    }
}

impl Outcome {
    /// Collects what a witness recorded. Call this after the run.
    #[must_use]
    pub fn new(witness: &Witness, seed: u64, form: Form) -> Self {
        let failures = witness.glimpse().failures;
        let report = witness.report(None).with_seed(seed);
        Self { report, restart: None, one_address: None, sale: None, failures, form }
    }

    /// Collects what a witness recorded of a sale, whose draws have this bias.
    pub(super) fn of_sale(witness: &Witness, seed: u64, form: Form, bias: DrawBias) -> Self {
        let Some((idle, draw)) = witness.sale(SalePlan::ROOM, SalePlan::EVENT) else {
            return Self::new(witness, seed, form);
        };
        let OneAddress { placed, first_position_p95, .. } = witness.one_address();
        let report = witness.report(draw.order.clone()).with_seed(seed);
        let sale = SaleOutcome { bias, idle, draw, first_position_p95, placed };
        let failures = witness.glimpse().failures;
        Self { report, restart: None, one_address: None, sale: Some(sale), failures, form }
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

    /// Prints the outcome.
    ///
    /// # Errors
    ///
    /// Standard output is closed.
    pub fn print(&self) -> io::Result<()> {
        let table = self.table();
        match self.form {
            Form::Json => {
                eprintln!("{table}");
                let mut out = io::stdout().lock();
                serde_json::to_writer(&mut out, &self.document())?;
                writeln!(out)?;
            }
            Form::Table => writeln!(io::stdout(), "{table}")?,
        }
        for alarm in &self.report.alarms {
            eprintln!("{alarm:?}");
        }
        eprintln!("{}", self.verdict());
        Ok(())
    }

    /// Returns whether the room kept its promises.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.violations().is_empty()
    }

    fn verdict(&self) -> String {
        let judged = if self.is_excused() {
            "promise but the limits, which a new room that admits at once cannot promise,"
        } else {
            "promise"
        };
        match self.violations().as_slice() {
            [] => format!("every {judged} was kept"),
            violations => format!("BROKEN: {}", violations.join(", ")),
        }
    }

    /// The names of the broken promises.
    fn violations(&self) -> Vec<&'static str> {
        let mut violations = self.report.violations();
        violations.retain(|name| !(self.is_excused() && LIMITS.contains(name)));
        if let Some(OneAddress { limited, placed, first_position_p95 }) = self.one_address {
            // If no visitor waited in the line, the limit was not put to the test.
            let broken = [
                ("refused_by_limits", limited > 0),
                ("nobody_waited", placed == 0),
                ("first_position", first_position_p95 > FIRST_POSITION),
            ];
            violations.extend(broken.iter().filter(|(_, broken)| *broken).map(|(name, _)| *name));
        }
        violations.extend(self.sale.iter().flat_map(SaleOutcome::violations));
        violations
    }

    /// Returns whether the limits are not judged. A room that restarts with `admit` does not know
    /// how many visitors are active.
    fn is_excused(&self) -> bool {
        self.restart.is_some_and(|restart| restart.recovery == RecoveryName::Admit)
    }

    fn document(&self) -> Document<'_> {
        Document {
            report: &self.report,
            failed_requests: self.failures,
            restart_at_s: self.restart.map(|restart| restart.at.as_secs_f64()),
            refused_by_limits: self.one_address.map(|crowd| crowd.limited),
            first_position_p95_s: self.first_position_p95().map(|wait| wait.as_secs_f64()),
            sale: self.sale.as_ref().map(SaleFigures::new),
            violations: self.violations(),
        }
    }

    fn first_position_p95(&self) -> Option<Duration> {
        let sale = self.sale.as_ref().map(|sale| sale.first_position_p95);
        self.one_address.map(|crowd| crowd.first_position_p95).or(sale)
    }

    fn table(&self) -> Table {
        let report = &self.report;
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["", "seen", "promised"]);
        let no_more = |limit: u64| format!("≤ {limit}");
        let minute =
            report.new_users_per_minute.map_or(String::new(), |limit| no_more(limit.into()));
        let seconds = |seconds: f64| format!("{seconds:.1} s");
        let rows = [
            ("visitors", report.visitors.to_string(), String::new()),
            ("let in", report.admitted.to_string(), String::new()),
            ("sent away", report.refused.to_string(), String::new()),
            ("gave up", report.abandoned.to_string(), String::new()),
            ("requests", report.requests.to_string(), String::new()),
            ("without an answer", self.failures.to_string(), String::new()),
            ("wait, half of them", seconds(report.wait_p50_s), String::new()),
            ("wait, 95 in 100", seconds(report.wait_p95_s), String::new()),
            ("wait, the longest", seconds(report.wait_max_s), String::new()),
            (
                "active at once",
                report.max_active.to_string(),
                no_more(report.total_active_users.into()),
            ),
            ("new in any 60 s", report.max_new_in_any_60s.to_string(), minute),
            ("queued while a slot was free", report.queued_while_free.to_string(), "0".into()),
            ("let in out of order", report.order_inversions.to_string(), "0".into()),
            ("places lost", report.lost_places.to_string(), "0".into()),
            ("positions that rose", report.position_rises.to_string(), "0".into()),
            ("seed", report.seed.map_or(String::new(), |seed| seed.to_string()), String::new()),
        ];
        for (name, seen, promised) in rows {
            table.add_row([name.to_owned(), seen, promised]);
        }
        if let Some(OneAddress { limited, placed, first_position_p95 }) = self.one_address {
            let p95 = first_position_p95.as_secs_f64();
            for (name, seen, promised) in [
                ("refused by a limit", limited.to_string(), "0".to_owned()),
                ("shown a position", placed.to_string(), "> 0".to_owned()),
                ("first position, 95 in 100", seconds(p95), "≤ 3.0 s".to_owned()),
            ] {
                table.add_row([name.to_owned(), seen, promised]);
            }
        }
        for row in self.sale.iter().flat_map(|sale| sale.rows(self.report.event)) {
            table.add_row(row);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

/// The time after which 95 in 100 visitors must know their position.
const FIRST_POSITION: Duration = Duration::from_secs(3);

/// The promises that are limits, by the names of their fields.
const LIMITS: [&str; 2] = ["max_active", "max_new_in_any_60s"];

#[cfg(test)]
mod tests;
