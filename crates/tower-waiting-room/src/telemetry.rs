//! Everything that the layer reports: events, one field of a span, and metrics.
//!
//! All stages report through [`Telemetry`]. Events are always emitted, while metrics require the
//! `metrics` feature. Neither events nor metrics are sent to clients. The metrics are those of
//! `table.rs`, which `docs/metrics.md` describes; the events are:
//!
//! | kind | name | fields or labels |
//! |---|---|---|
//! | event, `DEBUG` (`TRACE` for a valid pass) | `verdict` | `room`, `reason` |
//! | event, `DEBUG` | `tokens rejected` | `room`, `tokens`, the last `error` |
//! | event, `DEBUG` | `store failed` | `room`, `policy`, `error` |
//! | event, `WARN` | `the store does not answer` | `room`, `error` |
//! | event, `INFO` | `the store answers again` | `room` |
//! | event, `WARN` (`ERROR` for `peer_unknown`), once each | `misconfigured` | `room`, `code`, `hint` |
//! | event, `INFO` | `rules file applied` | `room` |
//! | event, `ERROR` | `rules file not applied: the old limits remain` | `room`, `error` |
//! | event, `DEBUG` | `limit store failed` | `room`, `mode`, `error` |
//! | event, `DEBUG` | `over a limit` | `room`, `limit`, `decision` |
//! | event, `INFO` (feature `dashboard`) | `operator changed the room` | `room`, `operator`, `action`, `from`, `to`, `outcome` |
//! | field of the current span, if it has one | `waiting_room.reason` | |
//! | event, `DEBUG` | `at the gate` | `room`, `gate`, `outcome` |
//! | event, `DEBUG` | `push stream ended` | `room`, `outcome` |
//!
//! Four rare events have no metric and are logged where they occur: a configuration without a key
//! and a folder that cannot be watched (`WARN`), an answer that cannot be written (`ERROR`), and a
//! charge that cannot be settled (`DEBUG`). Without a `tracing` subscriber, `peer_unknown` is
//! written to standard error as a single line.
//!
//! These labels have a fixed set of values:
//!
//! | label | reported for | values |
//! |---|---|---|
//! | `error` | rejected tokens | the names of `OpenError`, such as `expired` and `forged` |
//! | `waited` | errors of estimates | `longer`, `shorter` (than the visitor was told) |
//! | `mode` | the mode of the room | `auto`, `drain`, `queue_all`, `suspended` |
//! | `policy` | failures of the room's store | `admit`, `local_share`, `wait` |
//! | `mode` | failures of the rate limit store | `admit`, `local_share`, `refuse`, or `overload` |
//! | `error` | failures of the rate limit store | `busy`, `timeout`, `unavailable` |
//! | `decision` | rate limits | `allowed`, `over_shadow`, `over_soft`, `refused` |
//! | `outcome` | gates | the names of `GateEvent`, such as `admitted_fast` and `timed_out` |
//! | `outcome` | rules files | `in_force`, `refused` |
//! | `outcome` | push streams | `disconnected`, `lifetime`, `refused`, `shutdown`, `slow`, `turn` |
//! | `code` | misconfigurations | [`Misconfiguration::code`] |
//!
//! Install a metrics recorder before the first request: a counter or histogram that is looked up before
//! the recorder is installed discards every value. The gauges show the state as of the last call to
//! [`record`](crate::WaitingRoomHandle::record), because no request updates a gauge.
//!
//! The number of time series is bounded by the configuration. No label contains data sent by a
//! client: the only variable parts of `reason` are the names of rules, limits and gates.

mod push;
mod subject;
#[cfg(feature = "metrics")]
mod table;
#[cfg(feature = "dashboard")]
mod tally;
mod visits;

#[cfg(feature = "metrics")]
use std::{collections::HashMap, ops::Add, sync::RwLock};
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use waiting_room_core::{Reason, StoreError};
#[cfg(feature = "metrics")]
use waiting_room_core::{error::StoreErrorKind, gate::GateSnapshot};

pub(crate) use self::push::StreamEnd;
#[cfg(feature = "metrics")]
use self::subject::Frequent;
pub(crate) use self::subject::{GateEvent, GateTime, Rate, Subject};
#[cfg(feature = "dashboard")]
pub(crate) use self::tally::{VerdictTally, VisitorWait};
use crate::misconfiguration::Misconfiguration;

/// Reports events and metrics for one room. All clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry {
    /// The name of the room, which is a field of every event and a label of every metric.
    room: Arc<str>,
    /// The misconfigurations logged so far, without duplicates. A list is enough, because there are
    /// only a few kinds of misconfigurations.
    misconfigured: Arc<Mutex<Vec<Misconfiguration>>>,
    /// The counter of requests that were admitted by the limits alone, in a layer without a room.
    #[cfg(feature = "metrics")]
    limits: Arc<Frequent>,
    /// The counter of requests with a valid pass.
    #[cfg(feature = "metrics")]
    passes: Arc<Frequent>,
    /// The counters for all other reasons. The only variable parts of a reason are names from the
    /// configuration, so the configuration bounds the size of the map.
    #[cfg(feature = "metrics")]
    others: Arc<RwLock<HashMap<Reason, metrics::Counter>>>,
    /// The counter of first tickets.
    #[cfg(feature = "metrics")]
    first_touches: Arc<Frequent>,
    /// The counter of sessions that began.
    #[cfg(feature = "metrics")]
    admissions: Arc<Frequent>,
    /// The number of abandoned places in the last snapshot.
    #[cfg(feature = "metrics")]
    abandoned: Arc<Mutex<Option<u64>>>,
    /// The counts that a dashboard reads.
    #[cfg(feature = "dashboard")]
    pub(crate) tally: Arc<VerdictTally>,
}

impl Telemetry {
    /// Creates the telemetry of the room with this name.
    pub(crate) fn new(room: Arc<str>) -> Self {
        // A recorder for OpenTelemetry needs the unit of a metric before its first use.
        #[cfg(feature = "metrics")]
        table::describe();
        Self {
            room,
            misconfigured: Arc::default(),
            #[cfg(feature = "metrics")]
            limits: Arc::default(),
            #[cfg(feature = "metrics")]
            passes: Arc::default(),
            #[cfg(feature = "metrics")]
            others: Arc::default(),
            #[cfg(feature = "metrics")]
            first_touches: Arc::default(),
            #[cfg(feature = "metrics")]
            admissions: Arc::default(),
            #[cfg(feature = "metrics")]
            abandoned: Arc::default(),
            #[cfg(feature = "dashboard")]
            tally: Arc::default(),
        }
    }

    /// Gives the current recorder the units and descriptions of all metrics, in case it was
    /// installed after the layer was created.
    #[cfg(feature = "metrics")]
    #[expect(clippy::unused_self, reason = "only a layer has metrics to describe")]
    pub(crate) fn describe(&self) {
        table::describe();
    }

    /// Returns the name of the room.
    pub(crate) fn room(&self) -> &str {
        &self.room
    }

    /// Reports the verdict on a request. Call this method exactly once per request.
    pub(crate) fn verdict(&self, reason: &Reason) {
        #[cfg(feature = "dashboard")]
        self.tally.count(reason);
        let room = &*self.room;
        // In a busy service, almost every request has a valid pass. At level `DEBUG`, the events
        // for these requests would drown out all other events.
        if *reason == Reason::AdmittedPass {
            tracing::trace!(room, %reason, "verdict");
        } else {
            tracing::debug!(room, %reason, "verdict");
        }
        // Looking up the current span costs more than the rest of this function, so the lookup is
        // skipped while the process has no subscriber.
        if tracing::dispatcher::has_been_set() {
            let span = tracing::Span::current();
            if !span.is_disabled() {
                span.record("waiting_room.reason", tracing::field::display(reason));
            }
        }
        // Looking up a counter allocates its labels, so each counter is cached after its first use.
        #[cfg(feature = "metrics")]
        if *reason == Reason::AdmittedLimits {
            self.limits.increment(|| self.verdicts(reason));
        } else if *reason == Reason::AdmittedPass {
            self.passes.increment(|| self.verdicts(reason));
        } else if !self.increment_known(reason) {
            let counter = self.verdicts(reason);
            counter.increment(1);
            let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
            others.insert(reason.clone(), counter);
        }
    }

    /// Increments the counter for a reason, if it was looked up before.
    #[cfg(feature = "metrics")]
    fn increment_known(&self, reason: &Reason) -> bool {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let counter = others.get(reason);
        counter.inspect(|counter| counter.increment(1)).is_some()
    }

    /// Looks up the counter for a reason.
    #[cfg(feature = "metrics")]
    fn verdicts(&self, reason: &Reason) -> metrics::Counter {
        metrics::counter!(
            table::VERDICTS.name,
            "room" => Arc::clone(&self.room),
            "reason" => reason.to_string(),
        )
    }

    /// Reports that the rate limit store made no decision for a request.
    ///
    /// `mode` is the name of the failure policy that was applied, or `overload` if the node sends
    /// the store more queries than the store can handle in time. The store itself logs the
    /// beginning and the end of an outage.
    pub(crate) fn limits_failed(&self, mode: &'static str, error: &StoreError) {
        let room = &*self.room;
        tracing::debug!(room, mode, error = error as &dyn std::error::Error, "limit store failed");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            table::LIMIT_STORE_FAILURES.name,
            "room" => Arc::clone(&self.room),
            "mode" => mode,
            "error" => match error.kind() {
                StoreErrorKind::Busy => "busy",
                StoreErrorKind::Timeout => "timeout",
                StoreErrorKind::Rules
                | StoreErrorKind::Unavailable
                | StoreErrorKind::Unsupported => "unavailable",
            },
        )
        .increment(1);
    }

    /// Reports the decision that one limit made for a request.
    pub(crate) fn rated(&self, limit: &Subject, what: Rate) {
        limit.decisions.count(what);
        let name = &limit.name;
        if !matches!(what, Rate::Allowed) {
            let room = &*self.room;
            tracing::debug!(room, limit = %name, decision = what.as_str(), "over a limit");
        }
        #[cfg(feature = "metrics")]
        match what {
            Rate::Allowed => limit.allowed.increment(|| self.decisions(name, what)),
            Rate::Refused => limit.refused.increment(|| self.decisions(name, what)),
            Rate::OverShadow | Rate::OverSoft => self.decisions(name, what).increment(1),
        }
    }

    /// Looks up the counter for one kind of decision by a limit.
    #[cfg(feature = "metrics")]
    fn decisions(&self, limit: &Arc<str>, what: Rate) -> metrics::Counter {
        metrics::counter!(
            table::RATE_DECISIONS.name,
            "room" => Arc::clone(&self.room),
            "limit" => Arc::clone(limit),
            "decision" => what.as_str(),
        )
    }

    /// Counts keys that lost their places in a limit's table while they were still in use.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, clippy::unused_self, reason = "there is no counter")
    )]
    pub(crate) fn displaced(&self, limit: &Subject, keys: u64) {
        #[cfg(feature = "metrics")]
        metrics::counter!(
            table::LIMIT_KEYS_DISPLACED.name,
            "room" => Arc::clone(&self.room),
            "limit" => Arc::clone(&limit.name),
        )
        .increment(keys);
    }

    /// Reports the outcome of a request at a gate.
    pub(crate) fn gate(&self, gate: &Subject, what: GateEvent) {
        gate.count_if_refused(what);
        if !matches!(what, GateEvent::AdmittedFast) {
            let room = &*self.room;
            tracing::debug!(room, gate = %gate.name, outcome = what.as_str(), "at the gate");
        }
        #[cfg(feature = "metrics")]
        if what == GateEvent::AdmittedFast {
            gate.allowed.increment(|| self.outcomes(&gate.name, what));
        } else if what == GateEvent::Full {
            gate.refused.increment(|| self.outcomes(&gate.name, what));
        } else {
            self.outcomes(&gate.name, what).increment(1);
        }
    }

    /// Looks up the counter for one kind of outcome at a gate.
    #[cfg(feature = "metrics")]
    fn outcomes(&self, gate: &Arc<str>, what: GateEvent) -> metrics::Counter {
        metrics::counter!(
            table::GATE_OUTCOMES.name,
            "room" => Arc::clone(&self.room),
            "gate" => Arc::clone(gate),
            "outcome" => what.as_str(),
        )
    }

    /// Records how long a request waited for a permit, or how long it held one.
    ///
    /// `time` is a closure, so that the clock is not read if
    /// the `metrics` feature is disabled.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, clippy::unused_self, reason = "there are no histograms")
    )]
    pub(crate) fn gate_time(
        &self,
        gate: &Subject,
        which: GateTime,
        time: impl FnOnce() -> Duration,
    ) {
        #[cfg(feature = "metrics")]
        {
            let find = |metric: table::Metric| {
                let room = Arc::clone(&self.room);
                let gate = Arc::clone(&gate.name);
                metrics::histogram!(metric.name, "room" => room, "gate" => gate)
            };
            match which {
                GateTime::Hold => gate.holds.record(time(), || find(table::GATE_HOLD)),
                GateTime::Wait => find(table::GATE_WAIT).record(time()),
            }
        }
    }

    /// Sets the gauges of all gates with this name. A gate with a key has one snapshot for each key
    /// value in use. The counts of all snapshots are added up, and the longest of their waits is
    /// reported.
    #[cfg(feature = "metrics")]
    pub(crate) fn gate_gauges(&self, gate: &Arc<str>, gates: &[GateSnapshot]) {
        let set = |metric: table::Metric, value: f64| {
            let room = Arc::clone(&self.room);
            let gate = Arc::clone(gate);
            metrics::gauge!(metric.name, "room" => room, "gate" => gate).set(value);
        };
        // `Iterator::sum` returns -0.0 for an empty iterator of floats, which a gauge would show as
        // `-0`. A fold that starts at 0.0 returns 0.0.
        let sum = |of: fn(&GateSnapshot) -> f64| gates.iter().map(of).fold(0.0, f64::add);
        set(table::GATE_IN_FLIGHT, sum(|gate| gate.in_flight.into()));
        set(table::GATE_LIMIT, sum(|gate| gate.limit.map_or(f64::INFINITY, f64::from)));
        set(table::GATE_QUEUED, sum(|gate| gate.queued.into()));
        let oldest = gates.iter().map(|gate| gate.oldest_wait).max().unwrap_or_default();
        set(table::GATE_OLDEST_WAIT, oldest.as_secs_f64());
    }

    /// Reports the result of reading the rules file. `error` is `None` if the rules were applied,
    /// or the reason why they were not.
    pub(crate) fn rules_file(&self, error: Option<&dyn std::error::Error>) {
        let room = &*self.room;
        match error {
            None => tracing::info!(room, "rules file applied"),
            Some(error) => {
                tracing::error!(room, %error, "rules file not applied: the old limits remain");
            }
        }
        // Both series exist from the first attempt, so that the first refusal is an increase.
        #[cfg(feature = "metrics")]
        {
            let loads = |outcome: &'static str| {
                let room = Arc::clone(&self.room);
                metrics::counter!(table::RULES_FILE_LOADS.name, "room" => room, "outcome" => outcome)
            };
            let in_force = loads("in_force");
            let refused = loads("refused");
            if error.is_none() { in_force } else { refused }.increment(1);
        }
        // The gauge exists from the first attempt too, before the next call of `record`.
        #[cfg(feature = "metrics")]
        self.rules_file_gauge(error.is_some());
    }

    /// Sets the gauge that states whether the rules in force are older than the rules file.
    #[cfg(feature = "metrics")]
    pub(crate) fn rules_file_gauge(&self, is_outdated: bool) {
        metrics::gauge!(table::RULES_FILE_OUTDATED.name, "room" => Arc::clone(&self.room))
            .set(if is_outdated { 1.0 } else { 0.0 });
    }

    /// Reports a setting that is valid but probably not intended. Each kind of misconfiguration is
    /// counted on every call, but logged only on the first call.
    pub(crate) fn misconfigured(&self, what: Misconfiguration) {
        #[cfg(feature = "metrics")]
        metrics::counter!(
            table::MISCONFIGURATIONS.name,
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

    /// Logs a misconfiguration.
    fn warn(&self, what: Misconfiguration) {
        let room = &*self.room;
        let code = what.code();
        if !what.is_error() {
            tracing::warn!(room, code, hint = %what, "misconfigured");
        } else if tracing::dispatcher::has_been_set() {
            tracing::error!(room, code, hint = %what, "misconfigured");
        } else {
            // Requests are refused because of this error, or a limit has no effect. In a process
            // without a subscriber, this line is the only report of the cause. A failed write is ignored, because there is
            // nowhere else to report it.
            let line = format!("tower-waiting-room: misconfigured: room {room:?}: {what}\n");
            _ = io::stderr().write_all(line.as_bytes());
        }
    }

    /// Returns the misconfigurations found so far, in the order in which they were found.
    pub(crate) fn misconfigurations(&self) -> Vec<Misconfiguration> {
        self.misconfigured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
