//! Limits that many nodes share: asked in one place, all of a request at once.
//!
//! ```text
//! node ─► ChargeRequest, ChargeRequest, … ─┐
//!                                ├─► RateStore::charge_all ─► ChargeReply for each
//! node ─► ChargeRequest, …  ──────────┘     (one round trip, all or nothing)
//! ```
//!
//! A [`Limiter`](super::Limiter) is the same in one process, without a round trip. This is the
//! seam at which a server takes its place; it is asked through a trait object, since which one it
//! is is decided once at start-up.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use super::{Algorithm, Charge, Decision, KeyHash, KeyHasher, Quota};
use crate::StoreError;

/// One place where the limits of many nodes are counted.
///
/// # Contract
///
/// - **Atomic**: what is asked at once is decided at one instant, in some total order over all
///   nodes. Of the [hard](ChargeRequest::is_soft) asks either all are charged or none.
/// - **The same arithmetic**: a reply is that of the algorithm's [`Meter`](super::Meter), with
///   durations rounded up to the resolution of the store, which is a microsecond or finer.
/// - **Owns its time**, which is one for all nodes and never runs backwards for any key.
/// - **In order**: what one node has settled is counted before what it asks afterwards.
/// - **Bounded**: an answer or an error comes within a deadline, and no more wait for one than
///   there is a bound for. After an error the asks may have been charged, or not.
/// - **Cancel safe**: dropping a future leaves the limits as if it had been awaited, or had never
///   been made.
pub trait RateStore: fmt::Debug + Send + Sync + 'static {
    /// Makes the hashes of keys, the same on all nodes.
    fn hasher(&self) -> KeyHasher;

    /// Charges all hard limits or none; and, if all of them allow it, each soft one by itself.
    /// The replies are in the order of the asks, of which no two are about the same limit.
    ///
    /// # Errors
    ///
    /// The store could not decide.
    fn charge_all(
        &self,
        asks: &[ChargeRequest],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<ChargeReply>, StoreError>> + Send>>;

    /// Corrects a charge to what it really cost: gives back the rest, or spends what is missing,
    /// as a debt if need be. What comes back is the receipt that takes the place of `charge`.
    ///
    /// Does not wait for the store: a correction that is lost on its way leaves what was charged.
    ///
    /// # Errors
    ///
    /// The store is not asked for now. The charge stays as it is.
    fn settle(&self, ask: &ChargeRequest, charge: &Charge, cost: u64)
    -> Result<Charge, StoreError>;
}

/// A limit as a store knows it: by its name, which is the same on all nodes.
///
/// ```
/// use waiting_room_core::{Algorithm, RatePolicy, Quota};
///
/// let tiers = [Quota::per_day(10_000), Quota::per_day(100_000)];
/// let policy = RatePolicy::new("daily", Algorithm::Gcra, tiers);
/// assert_eq!(policy.quota(1), Quota::per_day(100_000));
/// // Who is in a tier that there is none of is taken to be in the last.
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
    /// A limit of this name, with a quota for each tier, all of which the algorithm can keep.
    ///
    /// # Panics
    ///
    /// There is no quota.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        algorithm: Algorithm,
        quotas: impl Into<Box<[Quota]>>,
    ) -> Self {
        let quotas = quotas.into();
        assert!(!quotas.is_empty(), "a limit has a quota");
        Self { name: name.into(), algorithm, quotas, is_adjustable: false }
    }

    /// Charges of it may be given back, so that who is refused now may be allowed earlier than
    /// it was told.
    #[must_use]
    pub fn adjustable(mut self) -> Self {
        self.is_adjustable = true;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The quotas, by tier.
    pub const fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// The quota of a tier.
    pub fn quota(&self, tier: usize) -> Quota {
        self.quotas[self.tier(tier)]
    }

    /// The tier that is meant: the last for one that there is not.
    #[must_use]
    pub const fn tier(&self, tier: usize) -> usize {
        if tier < self.quotas.len() { tier } else { self.quotas.len() - 1 }
    }

    /// Whether charges of it may be given back.
    #[must_use]
    pub fn is_adjustable(&self) -> bool {
        self.is_adjustable || self.algorithm == Algorithm::LeakyQueue
    }
}

/// What one request asks of one limit in a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChargeRequest {
    /// Of which limit.
    pub policy: Arc<RatePolicy>,
    /// For whom.
    pub key: KeyHash,
    /// In which tier.
    pub tier: usize,
    /// How much.
    pub cost: u64,
    /// Whether it is charged by itself, and refuses nobody.
    pub is_soft: bool,
}

impl ChargeRequest {
    /// Asks for `cost` for a key, in a tier of this limit, which refuses what exceeds it.
    #[must_use]
    pub const fn new(policy: Arc<RatePolicy>, key: KeyHash, tier: usize, cost: u64) -> Self {
        Self { policy, key, tier, cost, is_soft: false }
    }

    /// The same of a limit that refuses nobody: charged if it allows it, once all others do.
    #[must_use]
    pub fn soft(mut self) -> Self {
        self.is_soft = true;
        self
    }

    /// The quota that it is about.
    pub fn quota(&self) -> Quota {
        self.policy.quota(self.tier)
    }

    /// The receipt for a charge that has been corrected to this cost, as far as can be told
    /// without the state: by it never more is given back than was spent. A leaky queue may then give
    /// back less, if it has kept a part of what was given back before.
    #[must_use]
    pub fn settled(&self, charge: &Charge, cost: u64) -> Charge {
        let is_bucket = self.policy.algorithm.is_bucket();
        let mark = match charge.cost.checked_sub(cost) {
            // What is spent anew stands at a time that the store alone knows.
            None if charge.cost == 0 => 0,
            Some(less) if is_bucket => {
                let room = less.saturating_mul(self.quota().interval_nanos());
                charge.mark.saturating_sub(room)
            }
            _ => charge.mark,
        };
        Charge { cost, mark, ..*charge }
    }
}

/// What a store says about one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChargeReply {
    /// What the limit says; nothing if it was not asked, because another has refused before.
    pub decision: Option<Decision>,
    /// What was spent; nothing, if any hard limit refused.
    pub charge: Option<Charge>,
}

impl ChargeReply {
    /// What a limit says, and what was spent of it.
    #[must_use]
    pub const fn new(decision: Decision, charge: Option<Charge>) -> Self {
        Self { decision: Some(decision), charge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyHasher, Limiter, Timestamp};

    const NOW: Timestamp = Timestamp::from_secs(60_000);

    #[test]
    fn a_receipt_that_was_made_without_the_state_is_that_of_the_state() {
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
    fn what_is_spent_after_all_was_given_back_is_not_given_back_again() {
        let policy = Arc::new(RatePolicy::new("l", Algorithm::Gcra, [Quota::per_minute(10)]));
        let ask = ChargeRequest::new(policy, KeyHasher::shared([3, 1]).hash("ann"), 0, 1);
        let none = ask.settled(&Charge::new(4, NOW, NOW.as_nanos() + 24_000_000_000), 0);
        assert_eq!(none, Charge::new(0, NOW, NOW.as_nanos()));
        assert_eq!(ask.settled(&none, 3), Charge::new(3, NOW, 0));
    }
}
