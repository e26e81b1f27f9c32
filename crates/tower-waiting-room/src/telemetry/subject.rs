//! The limits and gates that telemetry reports about, and the events that they report.
//!
//! A busy service reports one decision per limit and one outcome per gate for each request. The
//! counters of the most frequent ones are therefore kept with the limit or the gate, next to its
//! name. All other counters are looked up each time. Without the feature `metrics`, a subject is
//! only a name.

use std::sync::Arc;
#[cfg(feature = "metrics")]
use std::sync::OnceLock;

use waiting_room_core::gate::RefusedBecause;

/// A limit or a gate, with its name and its most frequent counters.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The name in events and metrics.
    pub(super) name: Arc<str>,
    /// Counts requests that a limit allowed, or that a gate admitted without a wait.
    #[cfg(feature = "metrics")]
    pub(super) allowed: Frequent,
    /// Counts requests that a limit refused, or that found the queue of a gate full. A flood
    /// increments it for every request.
    #[cfg(feature = "metrics")]
    pub(super) refused: Frequent,
}

impl Subject {
    /// Creates a subject. Its counters are looked up at their first use.
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            #[cfg(feature = "metrics")]
            allowed: Frequent::default(),
            #[cfg(feature = "metrics")]
            refused: Frequent::default(),
        }
    }
}

/// A counter that most requests increment. It is looked up once, since looking it up allocates
/// memory for its labels.
#[cfg(feature = "metrics")]
#[derive(Debug, Default)]
pub(super) struct Frequent(OnceLock<metrics::Counter>);

#[cfg(feature = "metrics")]
impl Frequent {
    /// Increments the counter. The first call looks it up with `find`.
    pub(super) fn increment(&self, find: impl FnOnce() -> metrics::Counter) {
        self.0.get_or_init(find).increment(1);
    }
}

/// The outcome of a request at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateEvent {
    /// Admitted without a wait.
    AdmittedFast,
    /// Admitted from the queue.
    AdmittedQueued,
    /// Left the queue because the client disconnected or the future was dropped.
    Cancelled,
    /// Refused because the gate is being drained.
    Drained,
    /// Refused after a wait, to make room in the queue for another request.
    Evicted,
    /// Refused because the queue is full.
    Full,
    /// Would have waited, but runs without a permit in shadow mode.
    OverShadow,
    /// Refused because of overload: the wait would be, or has been, longer than allowed.
    Shed,
    /// Lost its permit while it was running, because its response was not read or it held the
    /// permit for too long.
    Swept,
    /// Refused because it waited for as long as the gate or its client allows.
    TimedOut,
}

impl GateEvent {
    /// Returns the event for a refusal with this cause. Causes that this release does not know
    /// count as a full queue.
    pub(crate) const fn of(because: RefusedBecause) -> Self {
        match because {
            RefusedBecause::Drained => Self::Drained,
            RefusedBecause::Evicted => Self::Evicted,
            RefusedBecause::Shed => Self::Shed,
            RefusedBecause::TimedOut => Self::TimedOut,
            _ => Self::Full,
        }
    }

    /// Returns the stable name, which is the label in metrics.
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

/// The decision of a rate limit about a request. Each limit that applies to a request reports a
/// decision of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    /// Within the limit.
    Allowed,
    /// Over a limit in shadow mode: forwarded, and only reported.
    OverShadow,
    /// Over a soft limit: forwarded with a mark.
    OverSoft,
    /// Over a hard limit.
    Refused,
}

impl Rate {
    /// Returns the stable name, which is the label in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::OverShadow => "over_shadow",
            Self::OverSoft => "over_soft",
            Self::Refused => "refused",
        }
    }
}
