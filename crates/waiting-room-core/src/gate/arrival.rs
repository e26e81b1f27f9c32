//! A request that arrives at a gate, and the reasons for a refusal.

use std::time::Duration;

use crate::Timestamp;

/// The properties of an arriving request that matter to the discipline of a gate.
///
/// The default is a request of class 0 and tenant 0, without a deadline, that holds no other
/// permit. A property that the discipline does not use has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    pub(super) class: u8,
    pub(super) tenant: u64,
    /// The time at which the client gives up, if it is known.
    pub(super) deadline: Option<Timestamp>,
    /// Whether the request holds a permit of another gate.
    pub(super) is_inside: bool,
}

impl Arrival {
    /// Sets the priority class. 0, the default, is served first.
    ///
    /// A class beyond the gate's last class counts as the last class.
    #[must_use]
    pub const fn class(mut self, class: u8) -> Self {
        self.class = class;
        self
    }

    /// Sets the tenant, as a hash that clients cannot choose. 0 by default.
    ///
    /// A client that can compute the hash could deliberately join another tenant's lane, so the
    /// hash should be keyed with a secret.
    #[must_use]
    pub const fn tenant(mut self, tenant: u64) -> Self {
        self.tenant = tenant;
        self
    }

    /// Marks a request that already holds a permit of another gate.
    ///
    /// Such a request is admitted or queued even while this gate is drained, provided that the
    /// drain [serves](super::DrainQueue::Serve) its waiting requests. Otherwise a request that has
    /// already been partly served would be refused.
    #[must_use]
    pub const fn inside(mut self) -> Self {
        self.is_inside = true;
        self
    }

    /// Sets the time at which the client gives up. `None` by default.
    ///
    /// The request then waits only as long as it would still have time to run, judging by the
    /// typical run time measured by the gate.
    #[must_use]
    pub const fn deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// The refusal of a request by a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateRefused {
    /// The reason for the refusal.
    pub because: RefusedBecause,
    /// The time after which the client should come back; `None` unless the gate lacked capacity.
    ///
    /// Each refused client gets its own time. The times are spaced at the rate at which the service
    /// completes requests, so that a crowd does not come back all at once.
    pub retry_after: Option<Duration>,
}

/// The reason why a gate refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusedBecause {
    /// The gate is being drained.
    Drained,
    /// The queue was full, and the request was removed from it in favour of another request.
    Evicted,
    /// The queue was full when the request arrived.
    Full,
    /// The request could not have been served in time, or it waited for as long as the discipline
    /// allows under overload.
    Shed,
    /// The request waited for as long as the rules or its client allow.
    TimedOut,
}
