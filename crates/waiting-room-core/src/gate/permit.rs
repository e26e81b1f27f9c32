//! The right of one request to run.

use std::{fmt, time::Duration};

use super::{gate::Gate, waiters::Grant};
use crate::Timestamp;

/// The right of one request to run, given back when it is dropped.
///
/// A permit is given back whichever way the request ends: success, error, panic, or a client that
/// disconnects. It then goes to the next waiting request, or becomes free.
#[must_use = "dropping it gives it back"]
pub struct Permit {
    gate: Gate,
    class: u8,
    grant: Grant,
    /// The time at which the request arrived at the gate.
    since: Timestamp,
}

impl Permit {
    pub(super) const fn new(gate: Gate, class: u8, grant: Grant, since: Timestamp) -> Self {
        Self { gate, class, grant, since }
    }

    /// Returns the time at which the permit was granted.
    #[must_use]
    pub const fn given_at(&self) -> Timestamp {
        self.grant.at
    }

    /// Returns the time that the request waited for the permit, or zero if it ran at once.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.grant.at.since(self.since)
    }

    /// Returns the number of requests that ran when the permit was granted, including this one.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.grant.in_flight
    }

    /// Returns the gate that granted the permit.
    #[must_use]
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }
}

impl Gate {
    /// Takes back a permit of this class that was granted at `given_at`.
    ///
    /// One compare-and-swap suffices if no other request is concerned. The lock is needed for a
    /// release that has to be measured, that goes to a waiter, or that may end a drain.
    fn release(&self, class: u8, given_at: Timestamp) {
        // The class gives up its share first, so that the choice of the next waiter below already
        // sees one running request less.
        self.0.running.ends(class);
        if self.0.is_measured() || !self.0.counter.leave() {
            self.critical(self.now(), |critical| critical.leave(given_at));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.release(self.class, self.grant.at);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("grant", &self.grant).finish_non_exhaustive()
    }
}
