//! The algorithms under comparison.

use waiting_room_core::{
    Quota, Timestamp,
    rate::{
        Alignment, Refusals,
        meters::{FixedWindow, Gcra, SlidingCounter, SlidingLog},
    },
};

use super::{
    exact::Truth,
    trial::{Tally, Used, attack, try_out},
};

/// An algorithm of the study. The token bucket and the leaky queue are omitted because they decide
/// as GCRA does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    FixedWindow,
    Gcra,
    SlidingCounter,
    SlidingLog,
}

impl Candidate {
    pub(super) const ALL: [Self; 4] =
        [Self::FixedWindow, Self::SlidingCounter, Self::Gcra, Self::SlidingLog];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FixedWindow => "fixed window",
            Self::Gcra => "GCRA",
            Self::SlidingCounter => "sliding counter",
            Self::SlidingLog => "sliding log",
        }
    }

    /// Returns whether the algorithm's own count of used units can be compared with the true count.
    /// The log's cannot: in the open loop it forgets requests that cannot affect its decisions.
    pub(super) const fn used(self) -> Used {
        match self {
            Self::FixedWindow | Self::SlidingCounter => Used::Count,
            Self::Gcra | Self::SlidingLog => Used::Other,
        }
    }

    /// Runs the algorithm with the requests of one source.
    pub(super) fn try_out(self, quota: &Quota, arrivals: &[Timestamp], truth: &Truth) -> Tally {
        let used = self.used();
        match self {
            Self::FixedWindow => try_out(&fixed_window(quota), used, quota, arrivals, truth),
            Self::Gcra => try_out(&Gcra::new(quota), used, quota, arrivals, truth),
            Self::SlidingCounter => {
                try_out(&SlidingCounter::new(quota), used, quota, arrivals, truth)
            }
            Self::SlidingLog => try_out(&sliding_log(quota), used, quota, arrivals, truth),
        }
    }

    /// Runs the algorithm against the adversary.
    pub(super) fn attack(self, quota: &Quota) -> Tally {
        match self {
            Self::FixedWindow => attack(&fixed_window(quota), quota),
            Self::Gcra => attack(&Gcra::new(quota), quota),
            Self::SlidingCounter => attack(&SlidingCounter::new(quota), quota),
            Self::SlidingLog => attack(&sliding_log(quota), quota),
        }
    }
}

fn fixed_window(quota: &Quota) -> FixedWindow {
    FixedWindow::new(quota, Alignment::Epoch)
}

fn sliding_log(quota: &Quota) -> SlidingLog {
    SlidingLog::new(quota, Refusals::Ignore)
}
