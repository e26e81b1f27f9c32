//! The decisions of a tuner, as an operator sees them.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use waiting_room_core::Timestamp;

/// Gives access to the last decision of a [`Tuner`](super::Tuner), even while the tuner runs.
#[derive(Clone, Debug, Default)]
pub struct LastTuning(pub(super) Arc<ArcSwapOption<Tuning>>);

/// A decision of a [`Tuner`](super::Tuner), and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// The number of new users per minute after the decision; `None` if the room has no such limit.
    pub new_users_per_minute: Option<u32>,
    /// The time of the decision, on the store's clock.
    pub at: Timestamp,
    /// The cause of the decision.
    pub cause: TuningCause,
}

/// The cause of a decision of a [`Tuner`](super::Tuner).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TuningCause {
    /// Kept: the rate is at the bound that the next change would exceed.
    AtBound,
    /// Kept: the gate is not overloaded, but has no permits to spare, or will have none once the
    /// visitors that the rate admits are active.
    Busy,
    /// Kept: an operator or another node has changed the rate, and the tuner continues from there.
    ChangedElsewhere,
    /// Kept: the room has no limit on new users, or the gate has no limit.
    NoLimit,
    /// Kept: no visitor waits because of the rate.
    NotNeeded,
    /// Lowered: the gate refused requests, or had a queue for the whole period.
    Overloaded,
    /// Kept: an event overrides the room's own rate, or the rate has just been changed elsewhere.
    Overridden,
    /// Kept: the last change was too recent to show its effect.
    Settling,
    /// Raised: visitors wait, and the gate has permits to spare.
    Spare,
    /// Kept: the store of the room does not answer.
    StoreUnavailable,
}

impl LastTuning {
    /// Returns the last decision, or `None` before the first one.
    #[must_use]
    pub fn get(&self) -> Option<Tuning> {
        self.0.load().as_deref().copied()
    }
}
