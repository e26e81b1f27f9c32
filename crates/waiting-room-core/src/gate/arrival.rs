//! An arriving request, and the reasons why a gate refuses requests.

use std::time::Duration;

use crate::Timestamp;

/// The properties of an arriving request that a gate takes into account.
///
/// By default, a request has class 0, tenant 0 and no deadline, and holds no permit from another
/// gate. A property that the discipline does not use has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    pub(super) class: u8,
    pub(super) tenant: u64,
    /// The time at which the client gives up, if known.
    pub(super) deadline: Option<Timestamp>,
    /// Whether the request holds a permit from another gate.
    pub(super) is_inside: bool,
}

impl Arrival {
    /// Sets the priority class; 0 by default. Requests of class 0 are served first.
    ///
    /// A class number beyond the gate's last class is treated as the last class.
    #[must_use]
    pub const fn class(mut self, class: u8) -> Self {
        self.class = class;
        self
    }

    /// Sets the tenant, identified by a hash that clients cannot choose; 0 by default.
    ///
    /// A client that can compute the hash could deliberately join another tenant's lane, so the
    /// hash should be keyed with a secret.
    #[must_use]
    pub const fn tenant(mut self, tenant: u64) -> Self {
        self.tenant = tenant;
        self
    }

    /// Marks a request that already holds a permit from another gate.
    ///
    /// A request that holds a permit from another gate is admitted or queued even while this gate
    /// is being drained, provided that the drain [serves](super::DrainQueue::Serve) waiting
    /// requests. Refusing a request that has already been partly served would waste the work done
    /// so far.
    #[must_use]
    pub const fn inside(mut self) -> Self {
        self.is_inside = true;
        self
    }

    /// Sets the time at which the client gives up. By default, this time is unknown.
    ///
    /// A request with a deadline stops waiting when too little time is left for it to run, judging
    /// by the typical run time that the gate has measured.
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
    /// The time after which the client should come back, or `None` if the request timed out or the
    /// gate is being drained.
    ///
    /// Each refused client gets its own time. The times are spaced at the rate at which the service
    /// completes requests, so that a crowd does not come back all at once.
    pub retry_after: Option<Duration>,
}

/// The reason why a gate refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an answer to a refusal must treat every cause")]
pub enum RefusedBecause {
    /// The gate is being drained.
    Drained,
    /// The request was removed from a full queue in favour of another request.
    Evicted,
    /// The queue was full when the request arrived.
    Full,
    /// The request could not have been served in time, or was still waiting at the earlier deadline
    /// that the discipline sets under overload.
    Shed,
    /// The request was still waiting at the deadline set by the rules or by its client.
    TimedOut,
}
