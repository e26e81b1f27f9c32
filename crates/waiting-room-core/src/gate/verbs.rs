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

/// The answer of a gate to a request that arrives.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request runs, waits, or does neither")]
pub enum Entry {
    /// The request runs now, and for as long as it holds the permit.
    Admitted(Permit),
    /// The request waits for its turn. Its place in the queue is given up when this is dropped.
    Queued(Acquire),
    /// The request neither runs nor waits.
    Refused(GateRefused),
}

/// The fate of the requests that wait when a gate is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "waiting requests are served or refused")]
pub enum DrainQueue {
    /// All waiting requests are refused at once.
    Refuse,
    /// Waiting requests keep their places and are served. Requests that hold a permit of
    /// [another gate](super::Arrival::inside) are still admitted or queued as well.
    Serve,
}

impl Gate {
    /// Admits, queues or refuses a request that arrives at `now`.
    ///
    /// A request runs at once only if no other waits. The number of waiting requests never exceeds
    /// [`GateRules::queue`], and no request is refused as [`Full`](super::RefusedBecause::Full)
    /// before that number is reached.
    #[must_use]
    pub fn enter(&self, arrival: Arrival, now: Timestamp) -> Entry {
        if let Some(permit) = self.try_enter(arrival.class, now) {
            return Entry::Admitted(permit);
        }
        // Numbers may have changed since the fast path gave up, so the decision is made again from
        // the start under the lock.
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

    /// Admits a request of this class if a permit is free and no other request waits for one.
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
    /// A higher limit admits waiting requests at once. A lower one does not interrupt
    /// running requests: it is reached as requests end.
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
    /// is ready once no request runs and none waits.
    ///
    /// Requests that run are not interrupted. `queue` decides about those that wait.
    pub fn drain(&self, queue: DrainQueue) -> Idle {
        self.critical(self.now(), |critical| {
            // The flag comes first: once the queue is refused, the fast path would admit newcomers
            // to a gate that is not yet marked as draining.
            critical.change(|counts| counts.is_draining = true);
            critical.state.serves_those_inside = queue == DrainQueue::Serve;
            if queue == DrainQueue::Refuse {
                critical.refuse_all();
            }
        });
        Idle::new(self.clone())
    }

    /// Admits requests again after [`drain`](Self::drain). An open gate stays as it is.
    pub fn open(&self) {
        self.critical(self.now(), |critical| {
            // Nothing is to be granted: while a gate is drained, free permits go to its waiters
            // too.
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
