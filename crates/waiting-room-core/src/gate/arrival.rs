//! A request that comes to a gate, and the reasons for which it is not let in.

use std::time::Duration;

use crate::Timestamp;

/// Somebody who comes to a gate, as far as its discipline cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    pub(super) class: u8,
    pub(super) tenant: u64,
    pub(super) deadline: Option<Timestamp>,
    pub(super) is_inside: bool,
}

impl Arrival {
    /// Of this class of priority: 0, the default, goes first.
    #[must_use]
    pub const fn class(mut self, class: u8) -> Self {
        self.class = class;
        self
    }

    /// Of this tenant, by a hash that its clients cannot aim.
    #[must_use]
    pub const fn tenant(mut self, tenant: u64) -> Self {
        self.tenant = tenant;
        self
    }

    /// Of a request that holds a permit of another gate already: while this one is drained and those
    /// who wait [have their turn](super::DrainQueue::Serve), it has its turn too.
    #[must_use]
    pub const fn inside(mut self) -> Self {
        self.is_inside = true;
        self
    }

    /// Of a client that gives up then.
    #[must_use]
    pub const fn deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

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
