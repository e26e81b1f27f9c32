//! Rate limits that several nodes share, counted in one place.
//!
//! ```text
//! node ─► ChargeRequest, ChargeRequest, … ─┐
//!                                          ├─► RateStore::charge_all ─► ChargeReply for each
//! node ─► ChargeRequest, … ────────────────┘     (one round trip, all or nothing)
//! ```
//!
//! All limits of a request are charged in one round trip. Within one process,
//! [`Limiter`](super::Limiter)s charge limits without a round trip. [`RateStore`] is the interface
//! to a server that takes the place of the limiters. The trait is object-safe, because the server
//! is chosen once at start-up and should not add a type parameter to the layer.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use super::{Algorithm, Charge, Decision, KeyHash, KeyHasher, Quota};
use crate::StoreError;

/// A server that counts limits for several nodes.
///
/// # Contract
///
/// - **Atomic.** The store decides on all requests of one call at one instant, and the calls of all
///   nodes have one total order. Either all [hard](ChargeRequest::is_soft) limits of the call are
///   charged, or none are.
/// - **The same arithmetic.** A reply equals the result of the algorithm's `Meter`,
///   with durations rounded up to the resolution of the store. This resolution is one microsecond
///   or finer.
/// - **One clock.** The store determines the time. All nodes share this time, and it never runs
///   backwards for any key.
/// - **In order.** A settlement by a node takes effect before any charges that the same node
///   requests later.
/// - **Bounded.** Each call returns a reply or an error within a deadline, and the number of
///   waiting calls is bounded. After an error, the limits may or may not have been charged.
/// - **Cancel safe.** If a future is dropped, the limits are in the same state as if the future had
///   either completed or never been created.
pub trait RateStore: fmt::Debug + Send + Sync + 'static {
    /// The hasher for keys. It must produce the same hashes on all nodes.
    fn hasher(&self) -> KeyHasher;

    /// Charges either all hard limits or none. If the hard limits are charged, each soft limit is
    /// then charged separately.
    ///
    /// `asks` must not contain the same limit twice. The replies are in the order of `asks`.
    ///
    /// # Errors
    ///
    /// Returns an error if the store could not decide. In that case, the limits may or may not have
    /// been charged.
    fn charge_all(
        &self,
        asks: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>>;

    /// Corrects a charge to its actual cost, by refunding or spending the difference. A difference
    /// that exceeds the limit is spent anyway, as a debt. Returns the receipt that replaces
    /// `charge`.
    ///
    /// The method does not wait for the store. If the correction is lost on the way to the store,
    /// the original charge remains in effect.
    ///
    /// # Errors
    ///
    /// Returns an error if calls to the store are suspended, as during an outage. In that case, the
    /// charge remains unchanged.
    fn settle(&self, ask: &ChargeRequest, charge: &Charge, cost: u64)
    -> Result<Charge, StoreError>;
}

/// A limit that is counted in a store, identified by a name that is the same on all nodes.
///
/// ```
/// use waiting_room_core::{Quota, rate::{Algorithm, RatePolicy}};
///
/// let tiers = [Quota::per_day(10_000), Quota::per_day(100_000)];
/// let policy = RatePolicy::new("daily", Algorithm::Gcra, tiers);
/// assert_eq!(policy.quota(1), Quota::per_day(100_000));
/// // An index beyond the last tier refers to the last tier.
/// assert_eq!(policy.quota(2), Quota::per_day(100_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatePolicy {
    name: Arc<str>,
    algorithm: Algorithm,
    quotas: Box<[Quota]>,
    is_adjustable: bool,
}

impl RatePolicy {
    /// Creates a limit with this name and with one quota for each tier.
    ///
    /// The quotas must be [valid](Quota::validate) for the algorithm. The constructor does not
    /// check the quotas.
    ///
    /// # Panics
    ///
    /// Panics if `quotas` is empty.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        algorithm: Algorithm,
        quotas: impl Into<Box<[Quota]>>,
    ) -> Self {
        let quotas = quotas.into();
        assert!(!quotas.is_empty(), "a limit needs at least one quota");
        Self { name: name.into(), algorithm, quotas, is_adjustable: false }
    }

    /// Declares that charges against this limit may be refunded.
    ///
    /// If charges may be refunded, a refused client may be allowed earlier than its decision
    /// states. A store that remembers refusals to avoid calls must therefore not do so for an
    /// adjustable limit.
    #[must_use]
    pub fn adjustable(mut self) -> Self {
        self.is_adjustable = true;
        self
    }

    /// The name that identifies the limit in the store.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The algorithm that determines whether a charge is allowed.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The quotas, by tier.
    pub const fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// The quota of a tier, or the quota of the last tier if the index is beyond the last tier.
    pub fn quota(&self, tier: usize) -> Quota {
        self.quotas[self.tier(tier)]
    }

    /// The tier that an index refers to: the index itself, or the last tier if the index is beyond
    /// it.
    #[must_use]
    pub const fn tier(&self, tier: usize) -> usize {
        if tier < self.quotas.len() { tier } else { self.quotas.len() - 1 }
    }

    /// Returns whether charges against this limit may be refunded.
    ///
    /// Charges against a leaky queue may always be refunded, because a request that is canceled
    /// while it is held gives up its turn.
    #[must_use]
    pub fn is_adjustable(&self) -> bool {
        self.is_adjustable || self.algorithm == Algorithm::LeakyQueue
    }
}

/// A request to charge one limit in a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChargeRequest {
    /// The limit that is charged.
    pub policy: Arc<RatePolicy>,
    /// The key that is charged.
    pub key: KeyHash,
    /// The tier of the limit. If the index is beyond the last tier, the last tier applies.
    pub tier: usize,
    /// The amount that is charged.
    pub cost: u64,
    /// Whether the limit only marks requests that exceed it, and is charged separately from other
    /// limits. A limit that is not soft is hard: it refuses requests that exceed it.
    pub is_soft: bool,
}

impl ChargeRequest {
    /// Creates a request to charge `cost` to a key, in a tier of a hard limit.
    #[must_use]
    pub const fn new(policy: Arc<RatePolicy>, key: KeyHash, tier: usize, cost: u64) -> Self {
        Self { policy, key, tier, cost, is_soft: false }
    }

    /// Makes the limit soft, so that it does not refuse requests. A soft limit is charged if it
    /// allows the cost and if all hard limits have allowed their costs.
    #[must_use]
    pub fn soft(mut self) -> Self {
        self.is_soft = true;
        self
    }

    /// The quota of the tier.
    pub fn quota(&self) -> Quota {
        self.policy.quota(self.tier)
    }

    /// Computes the receipt for a charge that is corrected to this cost, without access to the
    /// state.
    ///
    /// A node needs this receipt before the store has replied. Refunds that are based on the
    /// receipt never return more than was spent. For a leaky queue, such refunds may return less
    /// than was spent, because the queue may have rejected an earlier refund.
    #[must_use]
    pub fn settled(&self, charge: &Charge, cost: u64) -> Charge {
        let is_bucket = self.policy.algorithm.is_bucket();
        let mark = match charge.cost.checked_sub(cost) {
            // Everything has been refunded, so this is a new charge. Only the store can compute the
            // mark of a new charge. With a mark of zero, a later refund returns nothing.
            None if charge.cost == 0 => 0,
            // The mark of a bucket is the time at which the bucket will be empty, so a refund moves
            // the mark to an earlier time.
            Some(less) if is_bucket => {
                let room = less.saturating_mul(self.quota().interval_nanos());
                charge.mark.saturating_sub(room)
            }
            _ => charge.mark,
        };
        Charge { cost, mark, ..*charge }
    }
}

/// A store's reply for one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChargeReply {
    /// The limit's decision, or `None` if the limit was not consulted because another limit had
    /// refused.
    pub decision: Option<Decision>,
    /// The receipt for what was spent, or `None` if this limit or any hard limit refused.
    pub charge: Option<Charge>,
}

impl ChargeReply {
    /// Creates a reply from a limit's decision and the receipt for what was spent.
    #[must_use]
    pub const fn new(decision: Decision, charge: Option<Charge>) -> Self {
        Self { decision: Some(decision), charge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limiter, Timestamp, rate::KeyHasher};

    const NOW: Timestamp = Timestamp::from_secs(60_000);

    #[test]
    fn a_receipt_made_without_the_state_equals_that_of_the_state() {
        for algorithm in [Algorithm::Gcra, Algorithm::SlidingCounter, Algorithm::TokenBucket] {
            let quota = [Quota::per_minute(10)];
            let limiter = Limiter::new(algorithm, &quota, 100).unwrap();
            let key = KeyHasher::shared([3, 1]).hash("ann");
            let (_, mut charge) = limiter.charge(key, 0, 8, NOW).unwrap();
            let ask =
                ChargeRequest::new(Arc::new(RatePolicy::new("l", algorithm, quota)), key, 0, 8);
            for cost in [5, 5, 9, 2] {
                let settled = ask.settled(&charge, cost);
                limiter.settle(key, 0, &mut charge, cost, NOW);
                assert_eq!(settled, charge, "{algorithm:?} to {cost}");
            }
        }
    }

    #[test]
    fn an_index_beyond_the_last_tier_refers_to_the_last_tier() {
        let quotas = [1, 2, 3].map(Quota::per_minute);
        let policy = RatePolicy::new("limit", Algorithm::Gcra, quotas);
        assert_eq!(policy.name(), "limit");
        assert_eq!([0, 1, 2, 3, 9].map(|tier| policy.tier(tier)), [0, 1, 2, 2, 2]);
        assert_eq!([1, 7].map(|tier| policy.quota(tier)), [quotas[1], quotas[2]]);
    }

    #[test]
    fn units_spent_after_a_full_refund_are_not_refunded_again() {
        let policy = Arc::new(RatePolicy::new("l", Algorithm::Gcra, [Quota::per_minute(10)]));
        let ask = ChargeRequest::new(policy, KeyHasher::shared([3, 1]).hash("ann"), 0, 1);
        let none = ask.settled(&Charge::new(4, NOW, NOW.as_nanos() + 24_000_000_000), 0);
        assert_eq!(none, Charge::new(0, NOW, NOW.as_nanos()));
        assert_eq!(ask.settled(&none, 3), Charge::new(3, NOW, 0));
    }
}
