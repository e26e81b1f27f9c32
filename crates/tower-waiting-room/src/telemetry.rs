//! What is reported, and under which names.
//!
//! | what | name | fields |
//! |---|---|---|
//! | event, `DEBUG` (`TRACE` for a valid pass) | `verdict` | `room`, `reason` |
//! | event, `DEBUG` | `tokens rejected` | `room`, `tokens`, the last `error` |
//! | event, `DEBUG` | `store failed` | `room`, `policy`, `error` |
//! | event, `WARN` | `the store does not answer` | `room`, `error` |
//! | event, `INFO` | `the store answers again` | `room` |
//! | event, `WARN` (`ERROR` for `peer_unknown`), once each | `misconfigured` | `room`, `code`, `hint` |
//! | event, `INFO` | `rules file in force` | `room` |
//! | event, `ERROR` | `rules file not in force: the old limits stay` | `room`, `error` |
//! | event, `DEBUG` | `limit store failed` | `room`, `mode`, `error` |
//! | event, `DEBUG` | `over a limit` | `room`, `limit`, `decision` |
//! | field of the current span, if it has one | `waiting_room.reason` | |
//! | counter (feature `metrics`) | `waiting_room_verdicts_total` | `room`, `reason` |
//! | counter (feature `metrics`) | `waiting_room_tokens_rejected_total` | `room`, `error` |
//! | counter (feature `metrics`) | `waiting_room_store_failures_total` | `room`, `policy` |
//! | counter (feature `metrics`) | `waiting_room_limit_store_failures_total` | `room`, `mode`, `error` |
//! | counter (feature `metrics`) | `waiting_room_rate_decisions_total` | `room`, `limit`, `decision` |
//! | event, `DEBUG` | `at the gate` | `room`, `gate`, `outcome` |
//! | counter (feature `metrics`) | `waiting_room_gate_outcomes_total` | `room`, `gate`, `outcome` |
//! | histogram, seconds (feature `metrics`) | `waiting_room_gate_wait_seconds` | `room`, `gate` |
//! | histogram, seconds (feature `metrics`) | `waiting_room_gate_hold_seconds` | `room`, `gate` |
//! | gauge (feature `metrics`) | `waiting_room_gate_in_flight` | `room`, `gate` |
//! | gauge (feature `metrics`) | `waiting_room_gate_limit` | `room`, `gate` |
//! | gauge (feature `metrics`) | `waiting_room_gate_queued` | `room`, `gate` |
//! | gauge, seconds (feature `metrics`) | `waiting_room_gate_oldest_wait_seconds` | `room`, `gate` |
//! | counter (feature `metrics`) | `waiting_room_limit_keys_displaced_total` | `room`, `limit` |
//! | counter (feature `metrics`) | `waiting_room_rules_file_loads_total` | `room`, `outcome` |
//! | counter (feature `metrics`) | `waiting_room_misconfigurations_total` | `room`, `code` |
//!
//! Where no subscriber listens, `peer_unknown` is one line on standard error instead.
//!
//! A recorder of metrics has to be installed before the first request. The gauges are as of the last
//! [`record_gates`](crate::WaitingRoomHandle::record_gates).

mod subject;

#[cfg(feature = "metrics")]
use std::ops::Add;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

#[cfg(feature = "metrics")]
use dashmap::DashMap;
#[cfg(feature = "metrics")]
use waiting_room_core::{GateSnapshot, StoreErrorKind};
use waiting_room_core::{Reason, StoreError};

#[cfg(feature = "metrics")]
use self::subject::Frequent;
pub(crate) use self::subject::{GateEvent, Rate, Subject};
use crate::misconfiguration::Misconfiguration;

/// Reports for one room.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry {
    room: Arc<str>,
    misconfigured: Arc<Mutex<Vec<Misconfiguration>>>,
    /// The counters of the verdicts that most requests get.
    #[cfg(feature = "metrics")]
    limits: Arc<Frequent>,
    #[cfg(feature = "metrics")]
    passes: Arc<Frequent>,
    /// Those of the others, by what they are about: as many as there are rules.
    #[cfg(feature = "metrics")]
    others: Arc<DashMap<Reason, metrics::Counter>>,
}

impl Telemetry {
    pub(crate) fn new(room: Arc<str>) -> Self {
        Self {
            room,
            misconfigured: Arc::default(),
            #[cfg(feature = "metrics")]
            limits: Arc::default(),
            #[cfg(feature = "metrics")]
            passes: Arc::default(),
            #[cfg(feature = "metrics")]
            others: Arc::default(),
        }
    }

    /// A request was decided.
    pub(crate) fn verdict(&self, reason: &Reason) {
        let room = &*self.room;
        if *reason == Reason::AdmittedPass {
            tracing::trace!(room, %reason, "verdict");
        } else {
            tracing::debug!(room, %reason, "verdict");
        }
        // To ask for a span where nobody listens costs more than the rest of this.
        if tracing::dispatcher::has_been_set() {
            let span = tracing::Span::current();
            if !span.is_disabled() {
                span.record("waiting_room.reason", tracing::field::display(reason));
            }
        }
        #[cfg(feature = "metrics")]
        match reason {
            Reason::AdmittedLimits => self.limits.increment(|| self.verdicts(reason)),
            Reason::AdmittedPass => self.passes.increment(|| self.verdicts(reason)),
            _ => match self.others.get(reason) {
                Some(counter) => counter.increment(1),
                None => {
                    let counter = self.verdicts(reason);
                    counter.increment(1);
                    self.others.insert(reason.clone(), counter);
                }
            },
        }
    }

    #[cfg(feature = "metrics")]
    fn verdicts(&self, reason: &Reason) -> metrics::Counter {
        metrics::counter!(
            "waiting_room_verdicts_total",
            "room" => Arc::clone(&self.room),
            "reason" => reason.to_string(),
        )
    }

    /// So many tokens of a request were not opened. Never an error to the client.
    pub(crate) fn rejected(&self, tokens: usize, error: &'static str) {
        let room = &*self.room;
        tracing::debug!(room, tokens, error, "tokens rejected");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_tokens_rejected_total",
            "room" => Arc::clone(&self.room),
            "error" => error,
        )
        .increment(tokens as u64);
    }

    /// The store does not answer, after it has.
    pub(crate) fn store_is_away(&self, error: &StoreError) {
        let room = &*self.room;
        let error = error as &dyn std::error::Error;
        tracing::warn!(room, error, "the store does not answer");
    }

    /// The store answers, after it has not.
    pub(crate) fn store_answers(&self) {
        tracing::info!(room = &*self.room, "the store answers again");
    }

    /// The store could not decide, and this policy does.
    pub(crate) fn store_failed(&self, error: &StoreError, policy: &'static str) {
        let room = &*self.room;
        tracing::debug!(room, policy, error = error as &dyn std::error::Error, "store failed");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_store_failures_total",
            "room" => Arc::clone(&self.room),
            "policy" => policy,
        )
        .increment(1);
    }

    /// The store of the limits could not decide about a request; this is what was done with it.
    ///
    /// The store itself says once that it is away, and once that it is back.
    pub(crate) fn limits_failed(&self, mode: &'static str, error: &StoreError) {
        let room = &*self.room;
        tracing::debug!(room, mode, error = error as &dyn std::error::Error, "limit store failed");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_limit_store_failures_total",
            "room" => Arc::clone(&self.room),
            "mode" => mode,
            "error" => match error.kind() {
                StoreErrorKind::Busy => "busy",
                StoreErrorKind::Timeout => "timeout",
                _ => "unavailable",
            },
        )
        .increment(1);
    }

    /// A limit has said this to a request.
    pub(crate) fn rated(&self, limit: &Subject, what: Rate) {
        let name = &limit.name;
        if !matches!(what, Rate::Allowed) {
            let room = &*self.room;
            tracing::debug!(room, limit = %name, decision = what.as_str(), "over a limit");
        }
        #[cfg(feature = "metrics")]
        match what {
            Rate::Allowed => limit.allowed.increment(|| self.decisions(name, what)),
            Rate::Refused => limit.refused.increment(|| self.decisions(name, what)),
            _ => self.decisions(name, what).increment(1),
        }
    }

    #[cfg(feature = "metrics")]
    fn decisions(&self, limit: &Arc<str>, what: Rate) -> metrics::Counter {
        metrics::counter!(
            "waiting_room_rate_decisions_total",
            "room" => Arc::clone(&self.room),
            "limit" => Arc::clone(limit),
            "decision" => what.as_str(),
        )
    }

    /// Counts keys in use that have lost their places in the memory of a limit.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, clippy::unused_self, reason = "there is no counter")
    )]
    pub(crate) fn displaced(&self, limit: &Subject, keys: u64) {
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_limit_keys_displaced_total",
            "room" => Arc::clone(&self.room),
            "limit" => Arc::clone(&limit.name),
        )
        .increment(keys);
    }

    /// This became of a request at a gate.
    pub(crate) fn gate(&self, gate: &Subject, what: GateEvent) {
        if !matches!(what, GateEvent::AdmittedFast) {
            let room = &*self.room;
            tracing::debug!(room, gate = %gate.name, outcome = what.as_str(), "at the gate");
        }
        #[cfg(feature = "metrics")]
        match what {
            GateEvent::AdmittedFast => gate.allowed.increment(|| self.outcomes(&gate.name, what)),
            GateEvent::Full => gate.refused.increment(|| self.outcomes(&gate.name, what)),
            _ => self.outcomes(&gate.name, what).increment(1),
        }
    }

    #[cfg(feature = "metrics")]
    fn outcomes(&self, gate: &Arc<str>, what: GateEvent) -> metrics::Counter {
        metrics::counter!(
            "waiting_room_gate_outcomes_total",
            "room" => Arc::clone(&self.room),
            "gate" => Arc::clone(gate),
            "outcome" => what.as_str(),
        )
    }

    /// A request has waited for a permit, or held it, for so long.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, clippy::unused_self, reason = "there are no histograms")
    )]
    pub(crate) fn gate_time(
        &self,
        gate: &Subject,
        which: &'static str,
        time: impl FnOnce() -> Duration,
    ) {
        #[cfg(feature = "metrics")]
        metrics::histogram!(
            which,
            "room" => Arc::clone(&self.room),
            "gate" => Arc::clone(&gate.name),
        )
        .record(time());
    }

    /// The gates of this name are so now.
    #[cfg(feature = "metrics")]
    pub(crate) fn gate_gauges(&self, gate: &Arc<str>, gates: &[GateSnapshot]) {
        let set = |which: &'static str, value: f64| {
            let (room, gate) = (Arc::clone(&self.room), Arc::clone(gate));
            metrics::gauge!(which, "room" => room, "gate" => gate).set(value);
        };
        // Not `sum`, by which there would be -0 of what is not there.
        let sum = |of: fn(&GateSnapshot) -> f64| gates.iter().map(of).fold(0.0, f64::add);
        set("waiting_room_gate_in_flight", sum(|gate| gate.in_flight.into()));
        set("waiting_room_gate_limit", sum(|gate| gate.limit.map_or(f64::INFINITY, f64::from)));
        set("waiting_room_gate_queued", sum(|gate| gate.queued.into()));
        let oldest = gates.iter().map(|gate| gate.oldest_wait).max().unwrap_or_default();
        set("waiting_room_gate_oldest_wait_seconds", oldest.as_secs_f64());
    }

    /// The rules file was read again.
    pub(crate) fn rules_file(&self, outcome: &Result<(), String>) {
        let room = &*self.room;
        match outcome {
            Ok(()) => tracing::info!(room, "rules file in force"),
            Err(error) => {
                tracing::error!(room, %error, "rules file not in force: the old limits stay");
            }
        }
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_rules_file_loads_total",
            "room" => Arc::clone(&self.room),
            "outcome" => if outcome.is_ok() { "in_force" } else { "refused" },
        )
        .increment(1);
    }

    /// Something is probably not meant as it is. Logged once.
    pub(crate) fn misconfigured(&self, what: Misconfiguration) {
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_misconfigurations_total",
            "room" => Arc::clone(&self.room),
            "code" => what.code(),
        )
        .increment(1);
        let mut known = self.misconfigured.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&what) {
            known.push(what);
            self.warn(what);
        }
    }

    fn warn(&self, what: Misconfiguration) {
        let (room, code) = (&*self.room, what.code());
        if !what.is_error() {
            tracing::warn!(room, code, hint = %what, "misconfigured");
        } else if tracing::dispatcher::has_been_set() {
            tracing::error!(room, code, hint = %what, "misconfigured");
        } else {
            // Without this, all requests would be refused and nothing would say why. If standard
            // error is closed, there is nobody left to tell.
            let line = format!("tower-waiting-room: misconfigured: room {room:?}: {what}\n");
            _ = io::stderr().write_all(line.as_bytes());
        }
    }

    /// What was found to be probably not meant as it is.
    pub(crate) fn misconfigurations(&self) -> Vec<Misconfiguration> {
        self.misconfigured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
