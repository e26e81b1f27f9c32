//! The arithmetic that every algorithm implements, the decision that follows from it, and the receipt
//! for what was charged.
//!
//! ```text
//! wait ──► zero? ─ yes ─► spend ─► Charge ─► refund (later, if the cost was lower)
//!               └─ no ──► refused, which only a log with penalty counts
//! ```
//!
//! [`Meter::check`] performs all steps in the picture except the refund. A meter stores no state,
//! reads no clock and takes no lock. A [`Limiter`](super::Limiter) or a store does all three.

use std::{fmt::Debug, time::Duration};

use crate::Timestamp;

/// The arithmetic of one algorithm with one quota.
///
/// A meter is a plain value that contains the numbers that define the quota. Each method receives
/// the state of one key. A meter never reads a clock, and no value of `now` causes a panic. If
/// `now` is earlier than in a previous call, the meter allows no more than it would at the later
/// time.
///
/// A cost of zero is always allowed and changes nothing, so a caller can use it to query the state.
pub trait Meter: Clone + Debug + Send + Sync {
    /// The state of one key. The default is the state of a key that has never been seen, and is
    /// equivalent to the state of a key that has been idle for long enough.
    type State: Clone + Debug + Default + Send;

    /// The maximum amount that can ever be spent at once.
    fn limit(&self) -> u64;

    /// The amount that can be spent at `now`.
    fn remaining(&self, state: &Self::State, now: Timestamp) -> u64;

    /// The time from `now` until `cost` is allowed. The time is zero if the cost is allowed now,
    /// and `None` if the cost exceeds the limit and will never be allowed.
    fn wait(&self, state: &Self::State, cost: u64, now: Timestamp) -> Option<Duration>;

    /// Spends `cost`, whether or not it is allowed. Any excess over the limit is a debt, which has
    /// to be replenished before anything is allowed again.
    fn spend(&self, state: &mut Self::State, cost: u64, now: Timestamp) -> Charge;

    /// Refunds `cost` of a charge, except for the part that has already been replenished. After a
    /// refund, the meter allows no more than if the refunded cost had never been spent. Returns the
    /// receipt for the rest of the charge, which replaces `charge`.
    fn refund(&self, state: &mut Self::State, charge: &Charge, cost: u64, now: Timestamp)
    -> Charge;

    /// The part of the quota that is in use at `now`, or zero if the key is not in use. The unit
    /// depends on the meter, and is the same for all keys of a meter.
    fn used(&self, state: &Self::State, now: Timestamp) -> u64;

    /// The time at which everything will be replenished if nothing more is spent. This time is
    /// never earlier than `now`.
    fn replenished_at(&self, state: &Self::State, now: Timestamp) -> Timestamp;

    /// The time for which a request that is allowed at `now` has to be held. `state` is the state
    /// before the request is charged.
    fn delay(&self, _state: &Self::State, _now: Timestamp) -> Duration {
        Duration::ZERO
    }

    /// Records that `cost` was refused, if the algorithm counts refusals.
    fn refused(&self, _state: &mut Self::State, _cost: u64, _now: Timestamp) {}

    /// Converts a state of the `from` meter, which has a different quota. The key keeps the amount
    /// that it has used, but waits no longer than the new quota alone could make it wait.
    fn take_over(&self, state: &mut Self::State, from: &Self, now: Timestamp);

    /// Merges `other` into `state`. At `now` or later, the result allows nothing that either of the
    /// two states would refuse. The result uses no more memory than the state of a key that was
    /// charged once.
    fn join(&self, state: &mut Self::State, other: &Self::State, now: Timestamp);

    /// Returns the decision on a request of this cost, without spending anything.
    fn look(&self, state: &Self::State, cost: u64, now: Timestamp) -> Decision {
        let decision = self.describe(state, self.wait(state, cost, now), now);
        if decision.allowed && cost > 0 {
            decision.with_delay(self.delay(state, now))
        } else {
            decision
        }
    }

    /// Decides whether a request of this cost is allowed, and spends the cost if it is.
    ///
    /// # Errors
    ///
    /// Returns the decision if the cost is refused. A refused cost is not spent.
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

    /// Spends a cost if it is allowed. Returns the time for which the request has to be held, and
    /// the receipt.
    ///
    /// Unlike [`check`](Self::check), this method computes no numbers for the client and does not
    /// record refusals.
    fn take(
        &self,
        state: &mut Self::State,
        cost: u64,
        now: Timestamp,
    ) -> Option<(Duration, Charge)> {
        if self.wait(state, cost, now) != Some(Duration::ZERO) {
            return None;
        }
        // The delay is read before the cost is spent, because a request waits for the requests
        // ahead of it, not for itself.
        let delay = if cost > 0 { self.delay(state, now) } else { Duration::ZERO };
        Some((delay, self.spend(state, cost, now)))
    }

    /// Builds a decision from the given wait and the numbers that the meter derives from `state`.
    fn describe(&self, state: &Self::State, wait: Option<Duration>, now: Timestamp) -> Decision {
        let limit = self.limit();
        let remaining = self.remaining(state, now);
        let reset = if remaining < limit {
            self.wait(state, remaining + 1, now).unwrap_or_default()
        } else {
            Duration::ZERO
        };
        Decision::new(limit, remaining, reset, wait)
    }
}

/// A rate limit's decision on one request.
///
/// The numbers in a decision are exact as long as no other request uses the key in the meantime. A
/// client that waits for exactly [`retry_after`](Self::retry_after) is allowed, and a client that
/// waits for one nanosecond less is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the cost is within the limit. Nothing is spent for a request that is not allowed.
    pub allowed: bool,
    /// The maximum amount that can be spent at once: the burst of the quota if one is set, or
    /// otherwise the limit of the quota.
    pub limit: u64,
    /// The amount that can still be spent immediately after this request.
    pub remaining: u64,
    /// The time until [`remaining`](Self::remaining) increases, or zero if `remaining` equals the
    /// limit.
    pub reset: Duration,
    /// The time until the same cost is allowed: zero if it is allowed now, or `None` if it exceeds
    /// the limit and will never be allowed.
    pub retry_after: Option<Duration>,
    /// The time for which an allowed request is held before it continues. The delay is zero for
    /// every algorithm except the leaky queue.
    pub delay: Duration,
}

impl Decision {
    /// Creates a decision from the given numbers, for a meter or a store.
    ///
    /// The request is allowed if `retry_after` is zero.
    #[must_use]
    pub const fn new(
        limit: u64,
        remaining: u64,
        reset: Duration,
        retry_after: Option<Duration>,
    ) -> Self {
        let allowed = matches!(retry_after, Some(Duration::ZERO));
        Self { allowed, limit, remaining, reset, retry_after, delay: Duration::ZERO }
    }

    /// Sets the time for which the request is held before it continues.
    #[must_use]
    pub const fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// The receipt for a charge, which is needed to correct or refund the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charge {
    /// The amount that was spent.
    pub cost: u64,
    /// The time at which the amount was spent.
    pub at: Timestamp,
    /// The algorithm's position after the charge, which determines how much a refund can return.
    ///
    /// The position is a time in nanoseconds since the Unix epoch. For the buckets and the leaky
    /// queue, it is the time at which everything spent so far will have been replenished. For
    /// windows and counters, it is the start of the window. For a log, it is the time of the event.
    pub mark: u64,
}

impl Charge {
    /// Creates a receipt from these values.
    #[must_use]
    pub const fn new(cost: u64, at: Timestamp, mark: u64) -> Self {
        Self { cost, at, mark }
    }

    /// Returns the receipt for what remains of the charge after `cost` has been refunded.
    pub(super) const fn less(self, cost: u64) -> Self {
        Self { cost: self.cost.saturating_sub(cost), ..self }
    }
}
