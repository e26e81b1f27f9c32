//! The limits and gates that telemetry reports on, and their events.
//!
//! A busy service reports one decision per limit and one outcome per gate for each request. The
//! metrics of a limit or gate are therefore stored with its name.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use waiting_room_core::gate::RefusedBecause;

use super::{
    Telemetry,
    recorder::{Frequent, Histogram},
    table,
};

/// A limit or a gate, with its name, its counts and its metrics.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The name of the limit or gate in events and metrics.
    name: Arc<str>,
    /// The number of requests for each decision of a limit, kept when the limit's quota changes.
    decisions: Arc<[AtomicU64; 4]>,
    /// The number of requests that a gate has refused. A gate by key is removed when its last
    /// request ends, so a count in the gate itself would be lost.
    refusals: AtomicU64,
    /// The counters of a limit's decisions, or of the outcomes at a gate.
    counters: [Frequent; 10],
    /// The histograms of the times of requests at a gate.
    times: [Frequent<Histogram>; 2],
}

impl Subject {
    /// Creates a subject whose metrics are looked up when they are first used.
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            decisions: Arc::default(),
            refusals: AtomicU64::new(0),
            counters: Default::default(),
            times: Default::default(),
        }
    }

    /// Returns the number of requests that a gate has refused since its layer was created.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Returns the number of requests for which a limit has made this decision.
    pub(crate) fn decided(&self, what: Rate) -> u64 {
        self.decisions[what as usize].load(Relaxed)
    }

    /// Returns the number of requests above a limit, whatever its effect.
    pub(crate) fn over(&self) -> u64 {
        [Rate::OverShadow, Rate::OverSoft, Rate::Refused]
            .map(|what| self.decided(what))
            .iter()
            .sum()
    }

    /// Returns this subject with the counts of an earlier subject.
    pub(crate) fn continuing(self, before: Option<&Self>) -> Self {
        match before {
            Some(before) => Self { decisions: Arc::clone(&before.decisions), ..self },
            None => self,
        }
    }
}

impl Telemetry {
    /// Reports the decision that one limit made for a request.
    pub(crate) fn rated(&self, limit: &Subject, what: Rate) {
        // No other memory is published with a count, so relaxed suffices.
        limit.decisions[what as usize].fetch_add(1, Relaxed);
        let name = &limit.name;
        let decision = what.as_str();
        if what != Rate::Allowed {
            tracing::debug!(room = self.room(), limit = %name, decision, "over a limit");
        }
        limit.counters[what as usize].increment(|| {
            let labels = [("limit", Arc::clone(name).into()), ("decision", decision.into())];
            self.counter(table::RATE_DECISIONS, labels)
        });
    }

    /// Counts keys that lost their places in a limit's table while they were still in use.
    pub(crate) fn displaced(&self, limit: &Subject, keys: u64) {
        self.counter(table::LIMIT_KEYS_DISPLACED, [("limit", Arc::clone(&limit.name).into())])
            .increment(keys);
    }

    /// Reports the outcome of a request at a gate.
    pub(crate) fn gate(&self, gate: &Subject, what: GateEvent) {
        if what.is_refusal() {
            gate.refusals.fetch_add(1, Relaxed);
        }
        let name = &gate.name;
        let outcome = what.as_str();
        if what != GateEvent::AdmittedFast {
            tracing::debug!(room = self.room(), gate = %name, outcome, "at the gate");
        }
        gate.counters[what as usize].increment(|| {
            let labels = [("gate", Arc::clone(name).into()), ("outcome", outcome.into())];
            self.counter(table::GATE_OUTCOMES, labels)
        });
    }

    /// Records how long a request waited for a permit, or how long it held one.
    ///
    /// `time` is a closure, so that the clock is not read if the `metrics` feature is disabled.
    pub(crate) fn gate_time(
        &self,
        gate: &Subject,
        which: GateTime,
        time: impl FnOnce() -> Duration,
    ) {
        gate.times[which as usize].record(time, || {
            let metric = match which {
                GateTime::Hold => table::GATE_HOLD,
                GateTime::Wait => table::GATE_WAIT,
            };
            self.histogram(metric, [("gate", Arc::clone(&gate.name).into())])
        });
    }
}

/// A time of a request at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateTime {
    /// The time for which the request held its permit.
    Hold,
    /// The time for which the request waited for its permit.
    Wait,
}

/// The outcome of a request at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateEvent {
    /// The request was admitted without a wait.
    AdmittedFast,
    /// The request was admitted from the queue.
    AdmittedQueued,
    /// The request left the queue because its client disconnected or its future was dropped.
    Cancelled,
    /// The request was refused because the gate is being drained.
    Drained,
    /// The request was refused after a wait, to make room in the queue for another request.
    Evicted,
    /// The request was refused because the queue is full.
    Full,
    /// The request would have waited, but runs without a permit in shadow mode.
    OverShadow,
    /// The request was refused because of overload: the wait would be, or has been, longer than
    /// allowed.
    Shed,
    /// The request lost its permit while it was running, because its response was not read or
    /// because it held the permit for too long.
    Swept,
    /// The request was refused because it had waited for as long as the gate or the client allows.
    TimedOut,
}

impl GateEvent {
    /// Returns the event for a refusal with this cause.
    pub(crate) const fn of(because: RefusedBecause) -> Self {
        match because {
            RefusedBecause::Drained => Self::Drained,
            RefusedBecause::Evicted => Self::Evicted,
            RefusedBecause::Full => Self::Full,
            RefusedBecause::Shed => Self::Shed,
            RefusedBecause::TimedOut => Self::TimedOut,
        }
    }

    /// Returns whether the request was refused.
    const fn is_refusal(self) -> bool {
        matches!(self, Self::Drained | Self::Evicted | Self::Full | Self::Shed | Self::TimedOut)
    }

    /// Returns the stable name of the event, used as a label value in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::AdmittedFast => "admitted_fast",
            Self::AdmittedQueued => "admitted_queued",
            Self::Cancelled => "cancelled",
            Self::Drained => "drained",
            Self::Evicted => "evicted",
            Self::Full => "full",
            Self::OverShadow => "over_shadow",
            Self::Shed => "shed",
            Self::Swept => "swept",
            Self::TimedOut => "timed_out",
        }
    }
}

/// The decision that one rate limit made for a request. Each limit that applies to the request
/// reports its decision separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    /// The request is within the limit.
    Allowed,
    /// The request exceeds a limit in shadow mode: it is forwarded, and the excess is only
    /// reported.
    OverShadow,
    /// The request exceeds a soft limit: it is forwarded with a mark.
    OverSoft,
    /// The request exceeds a hard limit and is refused.
    Refused,
}

impl Rate {
    /// Returns the stable name of the decision, used as a label value in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::OverShadow => "over_shadow",
            Self::OverSoft => "over_soft",
            Self::Refused => "refused",
        }
    }
}
