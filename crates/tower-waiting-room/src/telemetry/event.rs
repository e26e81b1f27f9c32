//! What limits and gates have to report.

use waiting_room_core::RefusedBecause;

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
