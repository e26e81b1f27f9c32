//! The figures of a run, as they are recorded in a file, and compared with those of other runs.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::Path,
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use waiting_room_crowd::Admissions;

use crate::{
    fault::Fault,
    trial::{Run, Trial},
    verdict::violations,
};

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The name of the fault, `none` without one.
    pub(crate) fault: String,
    pub(crate) load: String,
    pub(crate) policy: String,
    pub(crate) engine: String,
    pub(crate) seed: u64,
    /// The admissions before, during and after the fault.
    pub(crate) admitted: [u64; 3],
    /// The visitors who were admitted at least once.
    pub(crate) visitors: u64,
    pub(crate) active: Bounded,
    pub(crate) new_in_60s: Bounded,
    pub(crate) early: u64,
    pub(crate) out_of_order_s: f64,
    pub(crate) places_lost: u64,
    pub(crate) passes_kept_out: u64,
    /// The renewals, those to which the store did not reply in time, and those without a lease.
    pub(crate) renewals: u64,
    pub(crate) renewals_late: u64,
    pub(crate) renewals_refused: u64,
    /// The calls to the store of each request, with a pass that is not due, and of each newcomer.
    pub(crate) calls_with_pass: f64,
    pub(crate) calls_of_newcomer: f64,
    /// The scripts of all stores, for each admission.
    pub(crate) scripts: Option<f64>,
    /// The messages that ask the ledgers for slots, and all messages to them, for each admission.
    pub(crate) asking: f64,
    pub(crate) messages: f64,
    /// The 99th percentile of response times with a pass: without a fault, and during it.
    pub(crate) pass_p99_ms: [f64; 2],
    pub(crate) without_ledger_s: Option<f64>,
    /// The messages of a ledger that had been replaced, after it continued.
    pub(crate) said_too_late: Option<u64>,
    /// The requests without an answer.
    pub(crate) unanswered: u64,
    /// The promises that were broken.
    pub(crate) broken: Vec<String>,
}

/// A figure, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounded {
    pub(crate) most: u64,
    pub(crate) limit: u64,
}

impl Record {
    /// The figures of a run.
    pub(crate) fn new(trial: &Trial) -> Self {
        let Run { fault, load, policy } = trial.run;
        let report = trial.outcome.report();
        let trips = &trial.trips;
        let Admissions { before, meanwhile, after } = trial.admissions;
        let limit = report.total_active_users.into();
        let per_minute = report.new_users_per_minute.unwrap_or(u32::MAX).into();
        let p99 = [trial.latencies.pass_p99_calm(), trial.latencies.pass_p99_troubled()];
        Self {
            fault: fault.name(),
            load: name(load),
            policy: name(policy),
            engine: name(trial.engine),
            seed: trial.seed,
            admitted: [before, meanwhile, after],
            visitors: report.admitted,
            active: Bounded { most: report.max_active, limit },
            new_in_60s: Bounded { most: report.max_new_in_any_60s, limit: per_minute },
            early: report.queued_while_free,
            out_of_order_s: trial.out_of_order.as_secs_f64(),
            places_lost: trial.places_lost,
            passes_kept_out: trial.passes_interrupted,
            renewals: trips.renewals.requests,
            renewals_late: trips.late,
            renewals_refused: trips.refused,
            calls_with_pass: trips.passes.calls_per_request(),
            calls_of_newcomer: trips.newcomers.calls_per_request(),
            scripts: trial.scripts.map(|scripts| trial.per_admission(scripts)),
            asking: trial.per_admission(trial.heard.asking),
            messages: trial.per_admission(trial.heard.to_ledgers),
            pass_p99_ms: p99.map(|time| time.as_secs_f64() * 1_000.0),
            without_ledger_s: trial.struck.without_ledger.map(|time| time.as_secs_f64()),
            said_too_late: trial.said_too_late(),
            unanswered: trial.outcome.failures(),
            broken: violations(trial).into_iter().map(str::to_owned).collect(),
        }
    }

    /// Returns whether no fault was injected.
    pub(crate) fn is_calm(&self) -> bool {
        self.fault == Fault::None.name()
    }

    /// The key that the run shares with runs that differ in the engine or the seed only.
    pub(crate) fn kind(&self) -> (&str, &str, &str) {
        (&self.fault, &self.load, &self.policy)
    }

    /// Appends the figures to a file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn append(&self, path: &Path) -> Result<()> {
        let open =
            || -> Result<File> { Ok(OpenOptions::new().create(true).append(true).open(path)?) };
        let mut file = open().with_context(|| format!("{} cannot be written", path.display()))?;
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        Ok(file.write_all(line.as_bytes())?)
    }

    /// Reads the figures of all runs in a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or contains something else.
    pub(crate) fn read(path: &Path) -> Result<Vec<Self>> {
        let file = File::open(path).with_context(|| format!("{} is missing", path.display()))?;
        let lines = BufReader::new(file).lines().zip(1..);
        let read = lines.map(|(line, number)| {
            let place = || format!("{}, line {number}", path.display());
            serde_json::from_str(&line?).with_context(place)
        });
        read.collect()
    }
}

/// The name of a value on the command line.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
