//! The leaky bucket as a meter: the generic cell rate algorithm (ITU-T Recommendation I.371).
//!
//! The state of a key is a single number: the time at which the bucket will be empty. The
//! recommendation calls this time the *theoretical arrival time* of the next event. An event is
//! allowed if it does not make the bucket overflow.
//!
//! ```text
//!      now                      empty at
//! ──────┼────────────────────────────┼──────► time
//!       ├── used ───────────────────►│
//!       ├── capacity ───────────────────────►│
//!                                    ├ room ►│   the remaining cost, in intervals
//! ```
//!
//! A time fits into an atomic integer, so a limiter needs no lock to make a decision. The drawback
//! is that, if no burst is set, a window can contain up to twice the limit minus one: a full
//! bucket, plus the amount that leaks out while the bucket is kept full.
//!
//! # Decisions without numbers
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

use std::{fmt::Debug, time::Duration};

use super::{Charge, Decision, Meter, Quota};
use crate::Timestamp;

/// The [generic cell rate algorithm](super::Algorithm::Gcra): a leaky bucket that is filled by
/// events and refuses events that would make it overflow.
///
/// ```
/// use waiting_room_core::{Quota, Timestamp, rate::meters::{Gcra, Meter}};
///
/// let gcra = Gcra::new(&Quota::per_minute(60).burst(2));
/// let mut state = 0;
/// let now = Timestamp::from_secs(100);
/// assert!(gcra.check(&mut state, 2, now).is_ok());
/// let refused = gcra.check(&mut state, 1, now).unwrap_err();
/// assert_eq!(refused.retry_after, Some(std::time::Duration::from_secs(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    /// The maximum amount that can be spent at once.
    capacity: u64,
    /// The time that one unit takes to leak out, in nanoseconds.
    interval: u64,
    /// The time that a full bucket takes to become empty, in nanoseconds: the capacity times the
    /// interval.
    span: u64,
}

impl Gcra {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        Self::of(quota.capacity(), quota.interval_nanos())
    }

    /// Creates a meter for a capacity and the time, in nanoseconds, that one unit takes to leak
    /// out.
    pub(super) const fn of(capacity: u64, interval: u64) -> Self {
        Self { capacity, interval, span: capacity.saturating_mul(interval) }
    }

    /// The time that one unit takes to leak out, in nanoseconds.
    #[inline]
    pub(super) const fn interval(&self) -> u64 {
        self.interval
    }

    /// The state after a cost above zero is spent, or `None` if the cost is not allowed. Unlike
    /// [`take`](Meter::take), this method computes no duration and no receipt.
    #[inline]
    pub(super) fn filled(&self, empty_at: u64, cost: u64, now: Timestamp) -> Option<u64> {
        if cost > self.capacity {
            return None;
        }
        let filling = cost * self.interval;
        let is_within = Self::backlog(empty_at, now) <= self.span - filling;
        is_within.then(|| empty_at.max(now.as_nanos()).saturating_add(filling))
    }

    /// The part of the span that is used at `now`, in nanoseconds. With a debt, the backlog exceeds
    /// the span.
    #[inline]
    fn backlog(empty_at: u64, now: Timestamp) -> u64 {
        empty_at.saturating_sub(now.as_nanos())
    }
}

/// A meter that allows the same costs as [`Gcra`], and differs from it only in delays and refunds.
pub(super) trait Bucket: Copy + Debug + Send + Sync {
    /// The arithmetic that decides.
    fn gcra(&self) -> &Gcra;

    /// The time, in nanoseconds, for which an allowed request is held. `empty_at` is the state
    /// before the request is charged.
    #[inline]
    fn delay_nanos(&self, _empty_at: u64, _now: Timestamp) -> u64 {
        0
    }

    /// Returns whether a charge can be refunded.
    #[inline]
    fn is_refundable(&self, _empty_at: u64, _charge: &Charge) -> bool {
        true
    }
}

impl Bucket for Gcra {
    #[inline]
    fn gcra(&self) -> &Gcra {
        self
    }
}

impl<B: Bucket> Meter for B {
    /// The time at which the bucket will be empty, or at which everything will be replenished, in
    /// nanoseconds since the Unix epoch.
    type State = u64;

    fn limit(&self) -> u64 {
        self.gcra().capacity
    }

    fn remaining(&self, empty_at: &u64, now: Timestamp) -> u64 {
        let gcra = self.gcra();
        gcra.span.saturating_sub(Gcra::backlog(*empty_at, now)) / gcra.interval
    }

    fn wait(&self, empty_at: &u64, cost: u64, now: Timestamp) -> Option<Duration> {
        let gcra = self.gcra();
        if cost == 0 {
            return Some(Duration::ZERO);
        }
        if cost > gcra.capacity {
            return None;
        }
        let room = gcra.span - cost * gcra.interval;
        Some(Duration::from_nanos(Gcra::backlog(*empty_at, now).saturating_sub(room)))
    }

    fn spend(&self, empty_at: &mut u64, cost: u64, now: Timestamp) -> Charge {
        if cost > 0 {
            let from = (*empty_at).max(now.as_nanos());
            *empty_at = from.saturating_add(cost.saturating_mul(self.gcra().interval));
        }
        Charge::new(cost, now, *empty_at)
    }

    fn refund(&self, empty_at: &mut u64, charge: &Charge, cost: u64, now: Timestamp) -> Charge {
        if !self.is_refundable(*empty_at, charge) {
            return charge.less(cost);
        }
        // The part of the charge that has leaked out in the meantime is no longer in the bucket.
        // Only the rest of the charge can be refunded. Otherwise, the refund would be taken from
        // later charges.
        let left = Gcra::backlog(charge.mark, now);
        let room = cost.min(charge.cost).saturating_mul(self.gcra().interval);
        *empty_at = empty_at.saturating_sub(room.min(left));
        Charge { mark: charge.mark.saturating_sub(room), ..charge.less(cost) }
    }

    fn used(&self, empty_at: &u64, now: Timestamp) -> u64 {
        Gcra::backlog(*empty_at, now)
    }

    fn replenished_at(&self, empty_at: &u64, now: Timestamp) -> Timestamp {
        Timestamp::from_nanos(*empty_at).max(now)
    }

    fn delay(&self, empty_at: &u64, now: Timestamp) -> Duration {
        Duration::from_nanos(self.delay_nanos(*empty_at, now))
    }

    /// Keeps the later of the two times.
    fn join(&self, empty_at: &mut u64, other: &u64, _: Timestamp) {
        *empty_at = (*empty_at).max(*other);
    }

    /// The state is a time, so it needs no conversion. The state is capped at the time at which a
    /// bucket that is full now would be empty under the new quota.
    fn take_over(&self, empty_at: &mut u64, _: &Self, now: Timestamp) {
        *empty_at = (*empty_at).min(now.as_nanos().saturating_add(self.gcra().span));
    }
}

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
    /// The state of the key after the decision, including the cost if it was spent.
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
