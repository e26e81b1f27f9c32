//! What all algorithms have in common.

use std::{fmt::Debug, time::Duration};

use super::{Charge, Decision};
use crate::Timestamp;

/// The arithmetic of one algorithm with one quota.
///
/// A meter is a value without identity: it holds the numbers of the quota, and is shown the state
/// of one key. It never reads a clock, and no `now` makes it panic: one that lies before an earlier
/// one is refused rather than allowed.
///
/// A cost of nothing is always allowed and changes nothing: a way to look.
pub trait Meter: Clone + Debug + Send + Sync {
    /// What is remembered of one key. The default stands for a key that was never seen, and means
    /// the same as one that has not been seen for long.
    type State: Clone + Debug + Default + Send;

    /// The most that can ever be spent at once.
    fn limit(&self) -> u64;

    /// How much can be spent at `now`.
    fn remaining(&self, state: &Self::State, now: Timestamp) -> u64;

    /// How long from `now` until `cost` is allowed: zero if it is, `None` if it never will be.
    fn wait(&self, state: &Self::State, cost: u64, now: Timestamp) -> Option<Duration>;

    /// Spends `cost`, allowed or not. More than is allowed is a debt, to be worked off before
    /// anything is allowed again.
    fn spend(&self, state: &mut Self::State, cost: u64, now: Timestamp) -> Charge;

    /// Gives back `cost` of a charge, as far as time has not given it back already: afterwards
    /// never more is allowed than if it had not been spent. What comes back is the receipt for the
    /// rest, and takes the place of `charge`.
    fn refund(&self, state: &mut Self::State, charge: &Charge, cost: u64, now: Timestamp)
    -> Charge;

    /// How much of the quota a key has used, in numbers that can be compared: of the keys in a
    /// full table, the one with the least makes room.
    fn used(&self, state: &Self::State, now: Timestamp) -> u64;

    /// When everything that was used will be there again, if nothing more is used; not before `now`.
    fn replenished_at(&self, state: &Self::State, now: Timestamp) -> Timestamp;

    /// How long a request that was allowed at `now` is to be held.
    fn delay(&self, _state: &Self::State, _now: Timestamp) -> Duration {
        Duration::ZERO
    }

    /// Remembers that `cost` was refused, where that counts.
    fn refused(&self, _state: &mut Self::State, _cost: u64, _now: Timestamp) {}

    /// Takes over a state from a meter with another quota: what was used stays used, and nobody
    /// waits longer than the new quota can make them.
    fn take_over(&self, state: &mut Self::State, from: &Self, now: Timestamp);

    /// Makes of a state one that allows nothing, at `now` or later, that it or the `other` does not.
    /// It takes no more memory than that of a key which was spent from once.
    fn join(&self, state: &mut Self::State, other: &Self::State, now: Timestamp);

    /// What would be said to a request of this cost, if nothing was spent.
    fn look(&self, state: &Self::State, cost: u64, now: Timestamp) -> Decision {
        let decision = self.describe(state, self.wait(state, cost, now), now);
        match decision.allowed {
            true if cost > 0 => decision.with_delay(self.delay(state, now)),
            _ => decision,
        }
    }

    /// Decides about a request of this cost, and spends it if it is allowed.
    ///
    /// # Errors
    ///
    /// The decision to refuse; nothing was spent.
    fn check(
        &self,
        state: &mut Self::State,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        match self.take(state, cost, now) {
            Some((delay, charge)) => {
                let decision = self.describe(state, Some(Duration::ZERO), now);
                Ok((decision.with_delay(delay), charge))
            }
            None => {
                self.refused(state, cost, now);
                Err(self.describe(state, self.wait(state, cost, now), now))
            }
        }
    }

    /// Spends a cost if it is allowed: how long to hold the request, and the receipt.
    fn take(
        &self,
        state: &mut Self::State,
        cost: u64,
        now: Timestamp,
    ) -> Option<(Duration, Charge)> {
        if self.wait(state, cost, now) != Some(Duration::ZERO) {
            return None;
        }
        let delay = if cost > 0 { self.delay(state, now) } else { Duration::ZERO };
        Some((delay, self.spend(state, cost, now)))
    }

    /// The decision, with the numbers of this state in it.
    fn describe(&self, state: &Self::State, wait: Option<Duration>, now: Timestamp) -> Decision {
        let (limit, remaining) = (self.limit(), self.remaining(state, now));
        let reset = match remaining < limit {
            true => self.wait(state, remaining + 1, now).unwrap_or_default(),
            false => Duration::ZERO,
        };
        Decision::new(limit, remaining, reset, wait)
    }
}
