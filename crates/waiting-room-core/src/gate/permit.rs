//! The right of one request to run.

use std::{fmt, time::Duration};

use super::{gate::Gate, waiters::Grant};
use crate::Timestamp;

/// The right of one request to run. Dropping the permit releases it.
///
/// A permit is released however the request ends: with success, with an error, with a panic, or
/// because its client disconnects. The released permit goes to the next waiting request, or becomes
/// free.
#[must_use = "dropping the permit releases it immediately"]
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

    /// Returns how long the request waited for the permit, or zero if it ran immediately.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.grant.at.since(self.since)
    }

    /// Returns the number of requests that were running when the permit was granted, including the
    /// request that holds the permit.
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
    /// Releases a permit that was granted to a request of this class at `given_at`.
    ///
    /// One compare-and-swap is enough if the release affects no other request. The lock is needed
    /// if the release has to be measured, if the permit goes to a waiter, or if the release may
    /// complete a drain.
    fn release(&self, class: u8, given_at: Timestamp) {
        // The count of the class is decremented first, because the next waiter is chosen below, and
        // that choice has to be based on the new count.
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
