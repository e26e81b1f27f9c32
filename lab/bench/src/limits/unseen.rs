//! The first check of a key, in a table that knows many.
//!
//! A client with many addresses determines how often this happens. So all places of our table are
//! taken, and each new key displaces another one that is in use, which is the most expensive case.

use std::{hint::black_box, num::NonZeroU32, time::Duration};

use governor::{Quota as GovernorQuota, RateLimiter};
use waiting_room_core::{Limiter, Quota, rate::Algorithm};

use super::{
    keyed::{MANY, hasher, number},
    turns::OPENING,
};
use crate::{
    case::{Case, Figures, Group, Repeat},
    effort::Effort,
    rounds::wall_time,
};

/// The first check of a key.
pub(crate) const UNSEEN: Group = Group::new(
    "key-unseen",
    "The first check of a key, in a table that knows 1 000 000",
    &[
        Case { name: "governor", set_up: governor },
        Case { name: "Limiter, the time given", set_up: ours },
        Case { name: "governor, ahash", set_up: governor_with_ahash },
    ],
)
.showing(Figures::Times);

/// Measures each check alone, and returns the time in nanoseconds that all but one in a thousand
/// checks do not exceed, of each case.
///
/// The time is that of the wall clock, and includes one reading of it.
pub(crate) fn slowest(cases: &[Case], effort: Effort) -> Vec<f64> {
    let mut running: Vec<_> = cases.iter().map(|case| ((case.set_up)(), Vec::new())).collect();
    for _ in 0..effort.rounds() {
        for (repeat, times) in &mut running {
            times.extend((0..IN_A_ROW).map(|_| {
                let begin = wall_time();
                repeat.run(1);
                wall_time().saturating_sub(begin)
            }));
        }
    }
    running.into_iter().map(|(_, times)| of_a_thousand(times)).collect()
}

/// Returns the time that one in a thousand exceeds, in nanoseconds.
fn of_a_thousand(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() * 999 / 1_000).map_or(f64::NAN, |time| time.as_secs_f64() * 1e9)
}

fn ours() -> Repeat {
    let limiter = limiter();
    let hasher = hasher();
    unseen(KNOWN, move |key| limiter.decide(hasher.hash(&key), 0, 1, OPENING).is_allowed())
}

fn limiter() -> Limiter {
    let keys = usize::try_from(MANY).expect("there are fewer keys than bytes");
    let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_day(PER_DAY.get().into())], keys);
    limiter.expect("the quota can be kept")
}

fn governor() -> Repeat {
    let limiter = RateLimiter::keyed(governor_quota());
    unseen(MANY, move |key| limiter.check_key(&key).is_ok())
}

fn governor_with_ahash() -> Repeat {
    let hasher = ahash::RandomState::with_seeds(3, 1, 4, 1);
    let limiter = RateLimiter::dashmap_with_hasher(governor_quota(), hasher);
    unseen(MANY, move |key| limiter.check_key(&key).is_ok())
}

/// Checks this many keys, and then a new one each time.
fn unseen(known: u32, check: impl Fn(u64) -> bool + 'static) -> Repeat {
    (0..known).for_each(|key| assert!(check(number(key)), "a new key is allowed"));
    let mut next = known;
    Repeat::new(move |times| {
        for _ in 0..times {
            assert!(black_box(check(number(next))), "a new key is allowed");
            next = next.wrapping_add(1);
        }
    })
}

fn governor_quota() -> GovernorQuota {
    let period = Duration::from_secs(24 * 60 * 60) / PER_DAY.get();
    GovernorQuota::with_period(period).expect("it is not nothing").allow_burst(PER_DAY)
}

/// The quota, such that a key is in use for longer than the measurement.
const PER_DAY: NonZeroU32 = NonZeroU32::new(1_000).expect("it is not zero");

/// The number of keys after which all places of our table are taken: it has almost two for each key.
const KNOWN: u32 = 3 * MANY;

/// How many checks of one case follow each other, so that its code is in the caches.
const IN_A_ROW: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_new_key_displaces_another_one() {
        let limiter = limiter();
        let hasher = hasher();
        let check = |key| limiter.decide(hasher.hash(&number(key)), 0, 1, OPENING).is_allowed();
        assert!((0..KNOWN).all(check), "a new key is allowed");
        let before = limiter.displaced();
        assert!((KNOWN..KNOWN + 1_000).all(check), "a new key is allowed");
        assert!(limiter.displaced() - before > 990, "the table is full");
    }

    #[test]
    fn one_time_in_a_thousand_is_longer() {
        let times = (1..=2_000).map(Duration::from_nanos).collect();
        assert!((of_a_thousand(times) - 1_999.0).abs() < 1e-6);
        assert!(of_a_thousand(Vec::new()).is_nan());
    }
}
