//! The verbs of a gate: to enter, to change its limit, to drain it and to open it again.

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
use crate::{ConfigError, ConfigErrorKind, Timestamp};

/// What a gate says to somebody who comes.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "one may run, wait, or neither")]
pub enum Entry {
    /// It may run.
    Admitted(Permit),
    /// It may wait for its turn.
    Queued(Acquire),
    /// Neither.
    Refused(GateRefused),
}

/// What becomes of those who wait when a gate is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "they have their turn or not")]
pub enum DrainQueue {
    /// They are refused.
    Refuse,
    /// They have their turn, and so do those who wait at [another gate](super::Arrival::inside).
    Serve,
}

impl Gate {
    /// Somebody comes at `now`: runs at once, or waits, or is refused.
    ///
    /// Nobody passes those who wait, and as many wait as may, exactly.
    #[must_use]
    pub fn enter(&self, arrival: Arrival, now: Timestamp) -> Entry {
        if let Some(permit) = self.try_enter(arrival.class, now) {
            return Entry::Admitted(permit);
        }
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

    /// Lets a request of this class in if there is a permit for it at once, and no other waits for
    /// one. `None` decides nothing: then [`enter`](Self::enter).
    #[inline]
    #[must_use]
    pub fn try_enter(&self, class: u8, now: Timestamp) -> Option<Permit> {
        let in_flight = self.0.counter.enter()?;
        self.0.running.begins(class);
        Some(Permit::new(self.clone(), class, Grant { at: now, in_flight }, now))
    }

    /// Changes how many may run: none with 0, which closes the gate, and as many as come with
    /// `None`. Those who run go on, whatever the limit.
    ///
    /// # Errors
    ///
    /// A limit above [`GateRules::MAX_LIMIT`]; the old one stays.
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

    /// Lets nobody in any more, until it is [opened](Self::open) again. The future is ready once
    /// nobody runs and nobody waits.
    pub fn drain(&self, queue: DrainQueue) -> Idle {
        self.critical(self.now(), |critical| {
            critical.change(|counts| counts.is_draining = true);
            critical.state.serves_those_inside = queue == DrainQueue::Serve;
            if queue == DrainQueue::Refuse {
                critical.refuse_all();
            }
        });
        Idle::new(self.clone())
    }

    /// Lets people in again.
    pub fn open(&self) {
        self.critical(self.now(), |critical| {
            critical.change(|counts| counts.is_draining = false);
        });
    }

    /// When to come back, for one who waited for too long: its refusal does not say.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Duration {
        self.critical(now, |critical| critical.retry_after())
    }
}
