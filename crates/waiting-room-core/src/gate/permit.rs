//! The right of one request to run.

use std::{fmt, time::Duration};

use super::{gate::Gate, waiters::Grant};
use crate::Timestamp;

/// The right of one request to run, given back when it is dropped.
///
/// Whatever ends a request drops its permit: success, error, panic, or a client that goes away.
#[must_use = "dropped, it is given back"]
pub struct Permit {
    gate: Gate,
    class: u8,
    grant: Grant,
    since: Timestamp,
}

impl Permit {
    pub(super) const fn new(gate: Gate, class: u8, grant: Grant, since: Timestamp) -> Self {
        Self { gate, class, grant, since }
    }

    /// When it was given.
    #[must_use]
    pub const fn given_at(&self) -> Timestamp {
        self.grant.at
    }

    /// How long it was waited for.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.grant.at.since(self.since)
    }

    /// How many ran when it was given, itself included.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.grant.in_flight
    }

    /// The gate that gave it.
    #[must_use]
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }
}

impl Gate {
    /// A permit is given back.
    fn release(&self, class: u8, given_at: Timestamp) {
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
