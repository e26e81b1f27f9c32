//! Charges several limits at once: either all are charged, or none are.
//!
//! ```text
//! look at all but one ─┬─ all allow ──► charge each ─┬─ all allow ──► allowed
//!                      │                             └─ one refuses ► refund the others ──► refused
//!                      └─ one refuses ─► look at that one ────────────────────────────────► refused
//! ```

use std::borrow::BorrowMut;

use super::{Charge, KeyHash, LazyDecision, Limiter};
use crate::Timestamp;

/// A request to charge one limit, and its outcome.
#[derive(Clone, Debug)]
pub struct LimiterCharge<'a> {
    limiter: &'a Limiter,
    key: KeyHash,
    tier: usize,
    cost: u64,
    /// The limit's decision, or `None` until the limit has been consulted.
    decision: Option<LazyDecision>,
}

impl<'a> LimiterCharge<'a> {
    /// Creates a request to charge `cost` to a key, in a tier of this limit.
    #[must_use]
    pub const fn new(limiter: &'a Limiter, key: KeyHash, tier: usize, cost: u64) -> Self {
        Self { limiter, key, tier, cost, decision: None }
    }

    /// The key that is charged.
    #[must_use]
    pub const fn key(&self) -> KeyHash {
        self.key
    }

    /// The tier of the limit.
    #[must_use]
    pub const fn tier(&self) -> usize {
        self.tier
    }

    /// The amount that is charged.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The limit's decision, or `None` before a call to [`charge_all`].
    #[must_use]
    pub const fn decision(&self) -> Option<&LazyDecision> {
        self.decision.as_ref()
    }

    /// The receipt for what was spent, or `None` if any limit refused.
    #[must_use]
    pub const fn charge(&self) -> Option<Charge> {
        match &self.decision {
            Some(decision) => decision.charge(),
            None => None,
        }
    }

    /// Obtains the decision without spending anything, and returns whether the limit allows the
    /// cost.
    fn look(&mut self, now: Timestamp) -> bool {
        let decision = self.limiter.look_lazily(self.key, self.tier, self.cost, now);
        self.decision.insert(decision).is_allowed()
    }

    /// Spends the cost if the limit allows it, and returns whether the cost was spent.
    #[inline]
    fn spend(&mut self, now: Timestamp) -> bool {
        let decision = self.limiter.decide(self.key, self.tier, self.cost, now);
        self.decision.insert(decision).is_allowed()
    }

    /// Refunds the cost if it was spent. The refund changes the numbers in the decision, so the
    /// decision is replaced by one without a receipt.
    fn give_back(&mut self, now: Timestamp) {
        if let Some(mut charge) = self.charge() {
            self.limiter.settle(self.key, self.tier, &mut charge, 0, now);
            self.look(now);
        }
    }
}

/// Charges all limits, or none if any of them refuses, and returns whether they were charged.
///
/// All limits are checked before any limit is charged, so a request that one limit refuses spends
/// no units of the other limits, not even briefly. There is one exception: a concurrent request may
/// use up a limit between the check and the charge. By then, the limits earlier in the list have
/// already been charged, so their charges are refunded.
///
/// If a limit is a [log that counts refusals](super::Refusals::Count), it still records the
/// requests that it refuses.
///
/// `asks` consists of [`LimiterCharge`]s, or of structs that contain one.
#[inline]
pub fn charge_all<'a, A: BorrowMut<LimiterCharge<'a>>>(asks: &mut [A], now: Timestamp) -> bool {
    match asks {
        [only] => only.borrow_mut().spend(now),
        several => charge_several(several, now),
    }
}

/// Charges any number of limits, or none of them.
fn charge_several<'a, A: BorrowMut<LimiterCharge<'a>>>(asks: &mut [A], now: Timestamp) -> bool {
    let Some((last, others)) = asks.split_last_mut() else { return true };
    // All limits are checked, even after one limit has refused, because the decision of every limit
    // may be reported to the client.
    let each = others.iter_mut().map(BorrowMut::borrow_mut);
    let refused = each.map(|ask| ask.look(now)).filter(|allowed| !allowed).count();
    if refused > 0 {
        last.borrow_mut().look(now);
        record_refusals(asks, now);
        return false;
    }
    // The last limit is charged first, and checked by that.
    if !last.borrow_mut().spend(now) {
        return false;
    }
    for index in 0..others.len() {
        if !others[index].borrow_mut().spend(now) {
            // The charges are refunded in reverse order, because a leaky queue refunds only its
            // last charge, and the same limit and key may occur more than once.
            let charged = others[..index].iter_mut().rev();
            charged.for_each(|ask| ask.borrow_mut().give_back(now));
            last.borrow_mut().give_back(now);
            return false;
        }
    }
    true
}

/// Records a refusal in each log that counts refusals and has refused. Looking at a limit records
/// nothing.
fn record_refusals<'a, A: BorrowMut<LimiterCharge<'a>>>(asks: &mut [A], now: Timestamp) {
    let each = asks.iter_mut().map(BorrowMut::borrow_mut);
    let refusals = each.filter(|ask| ask.limiter.counts_refusals());
    for ask in refusals.filter(|ask| ask.decision.is_some_and(|decision| !decision.is_allowed())) {
        // The refusal is recorded by an attempt to spend the cost. If a concurrent refund has made
        // room in the meantime, the attempt succeeds, and the cost has to be refunded.
        ask.spend(now);
        ask.give_back(now);
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        Quota,
        rate::{Algorithm, KeyHasher},
    };

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn limiter(limit: u64) -> Limiter {
        Limiter::new(Algorithm::Gcra, &[Quota::per_minute(limit)], 1_000).unwrap()
    }

    fn key(name: &str) -> KeyHash {
        KeyHasher::new([3, 1, 4, 1]).hash(name)
    }

    #[test]
    fn who_is_refused_by_one_limit_takes_nothing_from_another() {
        let (own, shared) = (limiter(1), limiter(10));
        let try_as = |name| {
            let mut asks = [
                LimiterCharge::new(&own, key(name), 0, 1),
                LimiterCharge::new(&shared, key("all"), 0, 1),
            ];
            charge_all(&mut asks, NOW)
        };
        let allowed = (0..20).filter(|_| try_as("abuser")).count();
        assert_eq!(allowed, 1);
        assert_eq!(shared.look(key("all"), 0, 1, NOW).remaining, 9);
        assert!(try_as("honest"));
    }

    #[test]
    fn a_limit_that_occurs_twice_is_charged_twice_or_not_at_all() {
        for algorithm in [Algorithm::Gcra, Algorithm::LeakyQueue, Algorithm::SlidingCounter] {
            for limit in [1, 2] {
                let twice = Limiter::new(algorithm, &[Quota::per_minute(limit)], 1_000).unwrap();
                let mut asks = [(); 2].map(|()| LimiterCharge::new(&twice, key("ann"), 0, 1));
                let is_allowed = charge_all(&mut asks, NOW);
                let remaining = twice.look(key("ann"), 0, 0, NOW).remaining;
                assert_eq!((is_allowed, remaining), (limit == 2, limit % 2), "{algorithm:?}");
            }
        }
    }

    proptest! {
        /// Compares `charge_all` with charging the limits one by one after all of them have been
        /// checked.
        #[test]
        fn either_all_are_charged_or_none(
            limits in prop::collection::vec(1u64..6, 1..6),
            steps in prop::collection::vec((0u64..40, prop::collection::vec(0u64..4, 6)), 1..100),
        ) {
            let limiters: Vec<_> = limits.iter().map(|&limit| limiter(limit)).collect();
            let twins: Vec<_> = limits.iter().map(|&limit| limiter(limit)).collect();
            let (ann, mut now) = (key("ann"), NOW);
            for (gap, costs) in steps {
                now = now + Duration::from_secs(gap);
                let mut asks: Vec<_> = limiters
                    .iter()
                    .zip(&costs)
                    .map(|(limiter, &cost)| LimiterCharge::new(limiter, ann, 0, cost))
                    .collect();
                let allowed = charge_all(&mut asks, now);
                let pairs = || twins.iter().zip(&costs);
                let expected = pairs().all(|(twin, &cost)| twin.look(ann, 0, cost, now).allowed);
                prop_assert_eq!(allowed, expected);
                if expected {
                    pairs().for_each(|(twin, &cost)| _ = twin.charge(ann, 0, cost, now));
                }
                prop_assert!(asks.iter().all(|ask| ask.charge().is_some() == allowed));
                for (limiter, twin) in limiters.iter().zip(&twins) {
                    prop_assert_eq!(limiter.look(ann, 0, 1, now), twin.look(ann, 0, 1, now));
                }
            }
        }
    }

    #[test]
    fn threads_together_are_allowed_exactly_the_limit_and_lose_nothing_of_the_other() {
        let (narrow, wide) = (limiter(500), limiter(100_000));
        let allowed: usize = thread::scope(|scope| {
            let tries: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let once = || {
                            let (narrow, wide) = (&narrow, &wide);
                            let mut asks =
                                [wide, narrow].map(|it| LimiterCharge::new(it, key("all"), 0, 1));
                            charge_all(&mut asks, NOW)
                        };
                        (0..1_000).filter(|_| once()).count()
                    })
                })
                .collect();
            tries.into_iter().map(|tried| tried.join().unwrap()).sum()
        });
        assert_eq!(allowed, 500);
        assert_eq!(wide.look(key("all"), 0, 1, NOW).remaining, 100_000 - 500);
    }
}
