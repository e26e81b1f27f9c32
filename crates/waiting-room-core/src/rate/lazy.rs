//! A rate limit's decision in the form in which it is made, before its numbers are computed.
//!
//! To decide, a bucket only compares and adds. To tell a client how much is left and how long to
//! wait, it also has to divide. Most decisions are never shown to a client, so a [`LazyDecision`]
//! stores the state from which the numbers follow:
//!
//! ```text
//! Limiter::decide ─► LazyDecision ─┬─► is_allowed, delay, charge      already known
//!                                  └─► describe ─► Decision           computed on demand
//! ```
//!
//! Only the token bucket, GCRA and the leaky queue postpone the numbers. A window or a log computes
//! them when it decides, because its state may change as soon as the lock is released.

use std::time::Duration;

use super::{Charge, Decision, Gcra, Meter};
use crate::Timestamp;

/// A rate limit's decision on one request, whose numbers are computed on demand.
///
/// The numbers refer to the time of the decision, no matter when they are computed. Later charges
/// and changes of the quota do not affect them.
///
/// ```
/// use waiting_room_core::{Limiter, Quota, Timestamp, rate::{Algorithm, KeyHasher}};
///
/// let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_minute(2)], 1_000)?;
/// let key = KeyHasher::new([3, 1, 4, 1]).hash("ann");
/// let decided = limiter.decide(key, 0, 1, Timestamp::from_secs(1_000));
/// assert!(decided.is_allowed());
/// assert_eq!(decided.describe().remaining, 1);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct LazyDecision {
    is_allowed: bool,
    basis: Basis,
}

/// The numbers of a decision, or the state from which they follow.
#[derive(Clone, Copy, Debug)]
enum Basis {
    Bucket(BucketDecision),
    /// The numbers, and the receipt if the cost was spent.
    Known(Decision, Option<Charge>),
}

/// A decision by an algorithm that is equivalent to GCRA except for the delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketDecision {
    /// Whether the cost was spent.
    pub(super) is_spent: bool,
    /// The maximum amount that can be spent at once.
    pub(super) capacity: u64,
    /// The time that one unit takes to be replenished, in nanoseconds.
    pub(super) interval: u64,
    /// The state of the key, after the cost was spent if it was spent.
    pub(super) empty_at: u64,
    pub(super) cost: u64,
    pub(super) at: Timestamp,
    /// The time for which an allowed request is held, in nanoseconds.
    pub(super) delay: u64,
}

impl LazyDecision {
    /// Creates a decision whose numbers are known, with the receipt for what was spent.
    pub(super) const fn known(decision: Decision, charge: Option<Charge>) -> Self {
        Self { is_allowed: decision.allowed, basis: Basis::Known(decision, charge) }
    }

    /// Creates a decision whose numbers follow from the state of a bucket.
    #[inline]
    pub(super) const fn of_bucket(is_allowed: bool, bucket: BucketDecision) -> Self {
        Self { is_allowed, basis: Basis::Bucket(bucket) }
    }

    /// Whether the cost is within the limit.
    #[must_use]
    #[inline]
    pub const fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// The time for which an allowed request is held before it continues. See [`Decision::delay`].
    #[must_use]
    #[inline]
    pub const fn delay(&self) -> Duration {
        match &self.basis {
            Basis::Bucket(BucketDecision { delay: 0, .. }) => Duration::ZERO,
            Basis::Bucket(bucket) => Duration::from_nanos(bucket.delay),
            Basis::Known(decision, _) => decision.delay,
        }
    }

    /// The time until the same cost is allowed. See [`Decision::retry_after`].
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.basis {
            Basis::Bucket(_) if self.is_allowed => Some(Duration::ZERO),
            Basis::Bucket(BucketDecision { capacity, interval, empty_at, cost, at, .. }) => {
                Gcra::of(*capacity, *interval).wait(empty_at, *cost, *at)
            }
            Basis::Known(decision, _) => decision.retry_after,
        }
    }

    /// The receipt for what was spent, or `None` if nothing was spent.
    #[must_use]
    #[inline]
    pub const fn charge(&self) -> Option<Charge> {
        match &self.basis {
            Basis::Bucket(BucketDecision { is_spent: true, cost, at, empty_at, .. }) => {
                Some(Charge::new(*cost, *at, *empty_at))
            }
            Basis::Bucket(_) => None,
            Basis::Known(_, charge) => *charge,
        }
    }

    /// Computes the numbers of the decision.
    #[must_use]
    pub fn describe(&self) -> Decision {
        let BucketDecision { capacity, interval, empty_at, at, delay, .. } = match &self.basis {
            Basis::Bucket(bucket) => bucket,
            Basis::Known(decision, _) => return *decision,
        };
        let gcra = Gcra::of(*capacity, *interval);
        let decision = gcra.describe(empty_at, self.retry_after(), *at);
        decision.with_delay(Duration::from_nanos(*delay))
    }
}

/// Creates a decision whose numbers are known, without a receipt.
impl From<Decision> for LazyDecision {
    fn from(decision: Decision) -> Self {
        Self::known(decision, None)
    }
}
