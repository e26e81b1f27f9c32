//! Limits and gates, as they are reported about, and what they report.

use std::sync::Arc;
#[cfg(feature = "metrics")]
use std::sync::OnceLock;

use waiting_room_core::RefusedBecause;

/// A limit that is reported about.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(super) name: Arc<str>,
    #[cfg(feature = "metrics")]
    pub(super) allowed: Frequent,
    #[cfg(feature = "metrics")]
    pub(super) refused: Frequent,
}

impl Subject {
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

/// A counter that most requests increment, so it is found once: to find it takes memory for its
/// labels.
#[cfg(feature = "metrics")]
#[derive(Debug, Default)]
pub(super) struct Frequent(OnceLock<metrics::Counter>);

#[cfg(feature = "metrics")]
impl Frequent {
    pub(super) fn increment(&self, find: impl FnOnce() -> metrics::Counter) {
        self.0.get_or_init(find).increment(1);
    }
}

/// What became of a request at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateEvent {
    AdmittedFast,
    AdmittedQueued,
    Cancelled,
    Drained,
    Evicted,
    Full,
    OverShadow,
    Shed,
    Swept,
    TimedOut,
}

impl GateEvent {
    /// What it is to be refused for this.
    pub(crate) const fn of(because: RefusedBecause) -> Self {
        match because {
            RefusedBecause::Drained => Self::Drained,
            RefusedBecause::Evicted => Self::Evicted,
            RefusedBecause::Shed => Self::Shed,
            RefusedBecause::TimedOut => Self::TimedOut,
            _ => Self::Full,
        }
    }

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

/// What a rate limit has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    Allowed,
    OverShadow,
    OverSoft,
    Refused,
}

impl Rate {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::OverShadow => "over_shadow",
            Self::OverSoft => "over_soft",
            Self::Refused => "refused",
        }
    }
}
