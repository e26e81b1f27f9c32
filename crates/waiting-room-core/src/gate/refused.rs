//! Why a gate does not let somebody in.

use std::time::Duration;

/// What a gate says to somebody who is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateRefused {
    /// Why.
    pub because: RefusedBecause,
    /// When to come back, where it was for want of capacity: a time of its own for each of those
    /// who are refused, at the rate at which the service gets through them.
    pub retry_after: Option<Duration>,
}

/// Why a gate does not let somebody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusedBecause {
    /// The gate is being emptied.
    Drained,
    /// It waited, and had to make room for another.
    Evicted,
    /// As many wait as may.
    Full,
    /// It would wait for longer than it may, or has under overload.
    Shed,
    /// It has waited for as long as it may, or as its client does.
    TimedOut,
}
