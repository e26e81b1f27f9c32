//! The verbs of a gate: enter, change the limit, drain, and open again.
//!
//! Each verb is one critical section, except that [`Gate::try_enter`] needs no lock.

use std::time::Duration;

use super::{
    acquire::Acquire,
    arrival::{Arrival, GateRefused},
    gate::Gate,
    idle::Idle,
    permit::Permit,
    queue::Entered,
    rules::GateRules,
    waiters::Grant,
};
use crate::{ConfigError, Timestamp, error::ConfigErrorKind};

/// A gate's answer to an arriving request.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request runs, waits, or does neither")]
pub enum Entry {
    /// The request runs now, and must hold the permit for as long as it runs.
    Admitted(Permit),
    /// The request waits for its turn. Its place in the queue is given up when the [`Acquire`] is
    /// dropped.
    Queued(Acquire),
    /// The request neither runs nor waits.
    Refused(GateRefused),
}

/// The fate of the waiting requests when a gate is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "waiting requests are served or refused")]
pub enum DrainQueue {
    /// All waiting requests are refused at once.
    Refuse,
    /// Waiting requests keep their places and are served. Requests that hold a permit of [another
    /// gate](super::Arrival::inside) are also still admitted or queued.
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
        // The numbers may have changed since the fast path gave up, so the decision is made again
        // from scratch under the lock.
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

    /// Admits a request of this class if a permit is free, no other request is waiting for one, and
    /// the gate is not being drained.
    ///
    /// This is the fast path of [`enter`](Self::enter): one compare-and-swap, no lock. `None` is
    /// not a refusal; call `enter` to have the request queued or refused.
    #[inline]
    #[must_use]
    pub fn try_enter(&self, class: u8, now: Timestamp) -> Option<Permit> {
        let in_flight = self.0.counter.enter()?;
        self.0.running.begins(class);
        Some(Permit::new(self.clone(), class, Grant { at: now, in_flight }, now))
    }

    /// Changes the limit. 0 closes the gate, and `None` removes the limit.
    ///
    /// Raising the limit admits waiting requests immediately. Lowering it does not interrupt
    /// running requests: the number of running requests falls to the new limit as requests end.
    ///
    /// # Errors
    ///
    /// Returns an error for a limit above [`GateRules::MAX_LIMIT`]; the old limit stays in force.
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
    /// Running requests are not interrupted. `queue` determines what happens to waiting requests.
    pub fn drain(&self, queue: DrainQueue) -> Idle {
        self.critical(self.now(), |critical| {
            // The flag is set first: otherwise the fast path could admit newcomers after the queue
            // has been refused and before the gate is marked as draining.
            critical.change(|counts| counts.is_draining = true);
            critical.state.serves_those_inside = queue == DrainQueue::Serve;
            if queue == DrainQueue::Refuse {
                critical.refuse_all();
            }
        });
        Idle::new(self.clone())
    }

    /// Admits requests again after [`drain`](Self::drain). This has no effect on an open gate.
    pub fn open(&self) {
        self.critical(self.now(), |critical| {
            // There is nothing to grant: free permits go to waiters even while a gate is being
            // drained.
            critical.change(|counts| counts.is_draining = false);
        });
    }

    /// Returns the time after which the client of a request that timed out should come back.
    ///
    /// A refusal for [`TimedOut`](super::RefusedBecause::TimedOut) carries no such time, because
    /// many of these clients are gone. Each call reserves a turn in the retry schedule, so call it
    /// only for a client that receives the value.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Duration {
        self.critical(now, |critical| critical.retry_after())
    }
}
