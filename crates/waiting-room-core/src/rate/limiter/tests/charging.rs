//! Several limits at once.

use std::{thread, time::Duration};

use proptest::prelude::*;

use crate::{
    Quota, Timestamp,
    rate::{
        Algorithm, KeyHash, KeyHasher, Limiter, Refusals,
        charging::{LimiterCharge, charge_all},
    },
};

const NOW: Timestamp = Timestamp::from_secs(1_000);

fn limiter(limit: u64) -> Limiter {
    limiter_of(Algorithm::Gcra, limit)
}

fn limiter_of(algorithm: Algorithm, limit: u64) -> Limiter {
    Limiter::new(algorithm, &[Quota::per_minute(limit)], 1_000).unwrap()
}

const COUNTS_REFUSALS: Algorithm = Algorithm::SlidingLog(Refusals::Count);

fn key(name: &str) -> KeyHash {
    KeyHasher::new([3, 1, 4, 1]).hash(name)
}

#[test]
fn a_refusal_by_one_limit_charges_no_other() {
    let own = limiter(1);
    let shared = limiter(10);
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
    /// checked. A limit that counts refusals is also charged if it refuses.
    #[test]
    fn either_all_are_charged_or_none(
        limits in prop::collection::vec((any::<bool>(), 1u64..6), 1..6),
        steps in prop::collection::vec((0u64..40, prop::collection::vec(0u64..4, 6)), 1..100),
    ) {
        let limiters = || -> Vec<_> {
            let algorithm = |counts| if counts { COUNTS_REFUSALS } else { Algorithm::Gcra };
            limits.iter().map(|&(counts, limit)| limiter_of(algorithm(counts), limit)).collect()
        };
        let twins = limiters();
        let limiters = limiters();
        let ann = key("ann");
        let mut now = NOW;
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
            for ((twin, &cost), (counts, _)) in pairs().zip(&limits) {
                let is_counted = *counts && !twin.look(ann, 0, cost, now).allowed;
                if expected || is_counted {
                    _ = twin.charge(ann, 0, cost, now);
                }
            }
            prop_assert!(asks.iter().all(|ask| ask.charge().is_some() == allowed));
            prop_assert!(asks.iter().all(|ask| ask.decision().is_some()));
            for (limiter, twin) in limiters.iter().zip(&twins) {
                prop_assert_eq!(limiter.look(ann, 0, 1, now), twin.look(ann, 0, 1, now));
            }
        }
    }
}

#[test]
fn threads_together_get_exactly_the_limit_and_lose_nothing_of_another() {
    let narrow = limiter(500);
    let wide = limiter(100_000);
    let allowed: usize = thread::scope(|scope| {
        let tries: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let once = || {
                        let narrow = &narrow;
                        let wide = &wide;
                        let mut asks = [wide, narrow]
                            .map(|limiter| LimiterCharge::new(limiter, key("all"), 0, 1));
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
