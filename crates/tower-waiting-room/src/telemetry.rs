//! Everything that the layer reports: events, one field of a span, and metrics.
//!
//! All stages report through [`Telemetry`]. Events are always emitted, while metrics require the
//! `metrics` feature, without which `no_recorder.rs` discards them. Neither events nor metrics are
//! sent to clients. A few counts are kept for the operator's handle as well. `table.rs` lists the
//! metrics, and `docs/metrics.md` describes them. The events are:
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

mod counts;
#[cfg(feature = "metrics")]
mod gauges;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_recorder.rs")]
mod recorder;
mod subject;
mod table;
mod visits;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use waiting_room_core::{Reason, StoreError, Timestamp, error::StoreErrorKind};

pub use self::counts::VisitorWait;
use self::{
    counts::{Verdicts, Waits},
    recorder::{Counter, Frequent, Histogram, LabelValue},
    table::Metric,
};
pub(crate) use self::{
    subject::{GateEvent, GateTime, Rate, Subject},
    visits::StreamEnd,
};
use crate::misconfiguration::Misconfiguration;

/// Reports events and metrics for one room. All clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry(Arc<Reported>);

/// The state that telemetry keeps between reports.
#[derive(Debug)]
struct Reported {
    /// The name of the room, which is a field of every event and a label of every metric.
    room: Arc<str>,
    /// The misconfigurations logged so far, without duplicates. A list is enough, because there are
    /// only a few kinds of misconfigurations.
    misconfigured: Mutex<Vec<Misconfiguration>>,
    verdicts: Verdicts,
    waits: Waits,
    /// The counter of first tickets.
    first_touches: Frequent,
    /// The counter of sessions that began.
    admissions: Frequent,
    /// The number of abandoned places in the last snapshot.
    #[cfg(feature = "metrics")]
    abandoned: Mutex<Option<u64>>,
}

impl Telemetry {
    /// Creates the telemetry of the room with this name.
    pub(crate) fn new(room: Arc<str>) -> Self {
        // A recorder for OpenTelemetry needs the unit of a metric before its first use.
        table::describe();
        Self(Arc::new(Reported {
            room,
            misconfigured: Mutex::default(),
            verdicts: Verdicts::new(),
            waits: Waits::default(),
            first_touches: Frequent::default(),
            admissions: Frequent::default(),
            #[cfg(feature = "metrics")]
            abandoned: Mutex::default(),
        }))
    }

    /// Returns the name of the room.
    pub(crate) fn room(&self) -> &str {
        &self.0.room
    }

    /// Reports the verdict on a request. Call this method exactly once per request.
    pub(crate) fn verdict(&self, reason: &Reason) {
        let room = self.room();
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
        self.0.verdicts.count(reason, || {
            self.counter(table::VERDICTS, [("reason", reason.to_string().into())])
        });
    }

    /// Returns the number of requests with each reason since the start, by the reason's name.
    pub(crate) fn verdicts(&self) -> Vec<(String, u64)> {
        self.0.verdicts.totals()
    }

    /// Returns the waits that ended in the minute before `now`, oldest first.
    pub(crate) fn waits(&self, now: Timestamp) -> Vec<VisitorWait> {
        self.0.waits.until(now).iter().copied().collect()
    }

    /// Reports that the rate limit store made no decision for a request.
    ///
    /// `mode` is the name of the failure policy that was applied, or `overload` if the node sends
    /// the store more queries than the store can handle in time. The store itself logs the
    /// beginning and the end of an outage.
    pub(crate) fn limits_failed(&self, mode: &'static str, error: &StoreError) {
        let room = self.room();
        tracing::debug!(room, mode, error = error as &dyn std::error::Error, "limit store failed");
        let error = match error.kind() {
            StoreErrorKind::Busy => "busy",
            StoreErrorKind::Timeout => "timeout",
            StoreErrorKind::Rules | StoreErrorKind::Unavailable | StoreErrorKind::Unsupported => {
                "unavailable"
            }
        };
        self.counter(table::LIMIT_STORE_FAILURES, [("mode", mode.into()), ("error", error.into())])
            .increment(1);
    }

    /// Reports the result of reading the rules file. `error` is `None` if the rules were applied,
    /// or the reason why they were not.
    #[cfg(feature = "files")]
    pub(crate) fn rules_file(&self, error: Option<&dyn std::error::Error>) {
        let room = self.room();
        match error {
            None => tracing::info!(room, "rules file applied"),
            Some(error) => {
                tracing::error!(room, %error, "rules file not applied: the old limits remain");
            }
        }
        // Both series exist from the first attempt, so that the first refusal is an increase.
        let loads = |outcome: &'static str| {
            self.counter(table::RULES_FILE_LOADS, [("outcome", outcome.into())])
        };
        let in_force = loads("in_force");
        let refused = loads("refused");
        if error.is_none() { in_force } else { refused }.increment(1);
        // Set here as well, so that the gauge exists from the first attempt and not only from the
        // next `record`.
        #[cfg(feature = "metrics")]
        self.rules_file_gauge(error.is_some());
    }

    /// Reports a setting that is valid but probably not intended. Each kind of misconfiguration is
    /// counted on every call, but logged only on the first call.
    pub(crate) fn misconfigured(&self, what: Misconfiguration) {
        self.counter(table::MISCONFIGURATIONS, [("code", what.code().into())]).increment(1);
        let mut known = self.0.misconfigured.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&what) {
            known.push(what);
            self.warn(what);
        }
    }

    /// Logs a misconfiguration.
    fn warn(&self, what: Misconfiguration) {
        let room = self.room();
        let code = what.code();
        if !what.is_error() {
            tracing::warn!(room, code, hint = %what, "misconfigured");
        } else if tracing::dispatcher::has_been_set() {
            tracing::error!(room, code, hint = %what, "misconfigured");
        } else {
            // Requests are refused because of this error, or a limit has no effect. In a process
            // without a subscriber, this line is the only report of the cause. A failed write is
            // ignored, because there is nowhere else to report it.
            let line = format!("tower-waiting-room: {code} in the room {room:?}: {what}\n");
            _ = io::stderr().write_all(line.as_bytes());
        }
    }

    /// Returns the misconfigurations found so far, in the order in which they were found.
    pub(crate) fn misconfigurations(&self) -> Vec<Misconfiguration> {
        self.0.misconfigured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks up a counter with these labels in addition to the room's.
    fn counter<const N: usize>(
        &self,
        metric: Metric,
        labels: [(&'static str, LabelValue); N],
    ) -> Counter {
        recorder::counter(metric.name, &self.0.room, labels)
    }

    /// Looks up a histogram with these labels in addition to the room's.
    fn histogram<const N: usize>(
        &self,
        metric: Metric,
        labels: [(&'static str, LabelValue); N],
    ) -> Histogram {
        recorder::histogram(metric.name, &self.0.room, labels)
    }
}
