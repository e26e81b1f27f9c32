//! The limits and gates that telemetry reports on, and their events.
//!
//! A busy service reports one decision per limit and one outcome per gate for each request. The
//! counters for the most frequent decisions and outcomes are therefore stored with the name of the
//! limit or gate, and so is the histogram of the times for which requests hold a permit. Any other metric is
//! looked up each time it is needed. Without the `metrics` feature, a [`Subject`] contains only a name.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
#[cfg(feature = "metrics")]
use std::{sync::OnceLock, time::Duration};

use waiting_room_core::gate::RefusedBecause;

/// The number of requests for each decision of a limit, whether or not metrics are recorded.
#[derive(Debug, Default)]
pub(crate) struct DecisionCounts([AtomicU64; 4]);

impl DecisionCounts {
    /// Counts a decision.
    pub(super) fn count(&self, what: Rate) {
        // No other memory is published with a count, so relaxed suffices.
        self.0[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of requests above the limit, whatever its effect.
    #[cfg(feature = "dashboard")]
    pub(crate) fn over(&self) -> u64 {
        [Rate::OverShadow, Rate::OverSoft, Rate::Refused].map(|what| self.of(what)).iter().sum()
    }

    /// Returns the number of requests with this decision.
    pub(crate) fn of(&self, what: Rate) -> u64 {
        self.0[what as usize].load(Ordering::Relaxed)
    }
}

/// A limit or a gate, with its name and its most frequently used metrics.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The name of the limit or gate in events and metrics.
    pub(super) name: Arc<str>,
    /// The counter of requests that a limit allowed, or that a gate admitted without a wait.
    #[cfg(feature = "metrics")]
    pub(super) allowed: Frequent,
    /// The counter of requests that a limit refused, or that found the queue of a gate full. In a
    /// flood, every request increments this counter.
    #[cfg(feature = "metrics")]
    pub(super) refused: Frequent,
    /// The histogram of the times for which the requests of a gate held their permits.
    #[cfg(feature = "metrics")]
    pub(super) holds: Frequent<metrics::Histogram>,
    /// The decisions of a limit, which outlast a change of its quota.
    pub(crate) decisions: Arc<DecisionCounts>,
    /// The number of requests that a gate has refused. A gate by key is removed when its last
    /// request ends, so its own count would be lost.
    refusals: AtomicU64,
}

impl Subject {
    /// Creates a subject whose metrics are looked up when they are first used.
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            #[cfg(feature = "metrics")]
            allowed: Frequent::default(),
            #[cfg(feature = "metrics")]
            refused: Frequent::default(),
            #[cfg(feature = "metrics")]
            holds: Frequent::default(),
            decisions: Arc::default(),
            refusals: AtomicU64::new(0),
        }
    }

    /// Counts a refusal by a gate, and no other event.
    pub(super) fn count_if_refused(&self, what: GateEvent) {
        if what.is_refusal() {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of requests that a gate has refused since its layer was created.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Returns this subject with the counts of an earlier one.
    pub(crate) fn continuing(self, before: Option<&Self>) -> Self {
        match before {
            Some(before) => Self { decisions: Arc::clone(&before.decisions), ..self },
            None => self,
        }
    }
}

/// A metric that most requests change. The metric is looked up only once, because a lookup allocates
/// memory for the labels.
#[cfg(feature = "metrics")]
#[derive(Debug)]
pub(super) struct Frequent<M = metrics::Counter>(OnceLock<M>);

#[cfg(feature = "metrics")]
impl<M> Default for Frequent<M> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

#[cfg(feature = "metrics")]
impl Frequent {
    /// Increments the counter, which `find` looks up on the first call.
    pub(super) fn increment(&self, find: impl FnOnce() -> metrics::Counter) {
        self.0.get_or_init(find).increment(1);
    }
}

#[cfg(feature = "metrics")]
impl Frequent<metrics::Histogram> {
    /// Records a value in the histogram, which `find` looks up on the first call.
    pub(super) fn record(&self, value: Duration, find: impl FnOnce() -> metrics::Histogram) {
        self.0.get_or_init(find).record(value);
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
