//! The operations of a gate: entering it, changing its limit, draining it, and opening it again.
//!
//! Each operation is one critical section. [`Gate::try_enter`], which needs no lock, is in `gate.rs`.

use std::time::Duration;

use super::{
    acquire::Acquire,
    arrival::{Arrival, GateRefused},
    gate::{Gate, Permit},
    idle::Idle,
    queue::Entered,
    rules::GateRules,
};
use crate::{ConfigError, Timestamp, error::ConfigErrorKind};

/// The result of an attempt to enter a gate.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request runs, waits, or does neither")]
pub enum Entry {
    /// The request may run now, and must hold the permit for as long as it runs.
    Admitted(Permit),
    /// The request waits for its turn in the queue, and leaves the queue if the [`Acquire`] is
    /// dropped.
    Queued(Acquire),
    /// The request is refused, and neither runs nor waits.
    Refused(GateRefused),
}

/// The treatment of waiting requests while a gate is being drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "waiting requests are served or refused")]
pub enum DrainQueue {
    /// All waiting requests are refused immediately.
    Refuse,
    /// Waiting requests stay in the queue and are served. New requests that hold a permit from
    /// [another gate](super::Arrival::inside) are still admitted or queued.
    Serve,
}

impl Gate {
    /// Admits, queues or refuses a request that arrives at `now`.
    ///
    /// A request runs immediately only if no other request is waiting. The number of waiting
    /// requests never exceeds [`GateRules::queue`], and no request is refused as
    /// [`Full`](super::RefusedBecause::Full) before that number is reached.
    #[must_use]
    pub fn enter(&self, arrival: Arrival, now: Timestamp) -> Entry {
        if let Some(permit) = self.try_enter(arrival.class, now) {
            return Entry::Admitted(permit);
        }
        // The counter may have changed since the fast path failed to admit the request, so the
        // decision is made again under the lock, based on the current values.
        match self.critical(now, |critical| critical.enter(&arrival)) {
            Entered::Granted(grant) => {
                self.0.running.begins(arrival.class);
                Entry::Admitted(Permit::new(self.clone(), arrival.class, grant, now))
            }
            Entered::Queued(id, deadline) => {
                Entry::Queued(Acquire::new(self.clone(), id, deadline))
            }
            Entered::Refused(refused) => Entry::Refused(refused),
        }
    }

    /// Changes the limit. A limit of 0 closes the gate, and `None` removes the limit.
    ///
    /// Raising the limit admits waiting requests immediately. Lowering the limit does not interrupt
    /// running requests. Instead, the number of running requests falls to the new limit as requests
    /// end.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit is above [`GateRules::MAX_LIMIT`]. The old limit then stays in
    /// effect.
    pub fn set_limit(&self, limit: impl Into<Option<u32>>) -> Result<(), ConfigError> {
        let limit = limit.into().unwrap_or(GateRules::MAX_LIMIT);
        if limit > GateRules::MAX_LIMIT {
            let expected = format!("at most {}", GateRules::MAX_LIMIT);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "limit", limit, expected));
        }
        self.critical(self.now(), |critical| {
            critical.change(|counts| counts.limit = limit);
            critical.grant();
        });
        Ok(())
    }

    /// Stops admitting requests until the gate is [opened](Self::open) again. The returned future
    /// completes once no request is running or waiting.
    ///
    /// Running requests are not interrupted. The `queue` argument determines whether waiting
    /// requests are served or refused.
    pub fn drain(&self, queue: DrainQueue) -> Idle {
        self.critical(self.now(), |critical| {
            // The flag is set first. Otherwise, the fast path could admit newcomers after the
            // waiting requests have been refused and before the gate is marked as draining.
            critical.change(|counts| counts.is_draining = true);
            critical.state.serves_those_inside = queue == DrainQueue::Serve;
            if queue == DrainQueue::Refuse {
                critical.refuse_all();
            }
        });
        Idle::new(self.clone())
    }

    /// Admits requests again after [`drain`](Self::drain). Opening an open gate has no effect.
    pub fn open(&self) {
        self.critical(self.now(), |critical| {
            // There are no permits to grant here, because free permits go to waiters even while a
            // gate is being drained.
            critical.change(|counts| counts.is_draining = false);
        });
    }

    /// Returns the time after which a client should come back if its refusal has no retry time.
    ///
    /// A refusal for [`TimedOut`](super::RefusedBecause::TimedOut) has no retry time, because the
    /// client of a request that timed out has often disconnected. Each call reserves a
    /// turn in the retry schedule, so call this method only for a client that receives the returned
    /// value.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Duration {
        self.critical(now, |critical| critical.retry_after())
    }
}
