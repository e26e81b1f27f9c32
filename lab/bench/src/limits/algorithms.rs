//! The cost of a check by each of the six algorithms, and the memory of a key.

use std::{hash::Hash, mem};

use governor::RateLimiter;
use waiting_room_core::{
    Limiter, Quota,
    rate::{Algorithm, Alignment, Refusals},
};

use super::{
    keyed::{address, governor_quota, hasher, number},
    turns::{OPENING, Outcome, Spread, Turns},
};
use crate::case::{Case, Group, Repeat};

/// The six algorithms.
pub(crate) const ALGORITHMS: Group = Group::new(
    "algorithms",
    &[
        Case { name: "fixed window", set_up: || checked(Algorithm::FixedWindow(Alignment::Epoch)) },
        Case { name: "GCRA", set_up: || checked(Algorithm::Gcra) },
        Case { name: "leaky queue", set_up: || checked(Algorithm::LeakyQueue) },
        Case { name: "sliding counter", set_up: || checked(Algorithm::SlidingCounter) },
        Case { name: "sliding log", set_up: || checked(Algorithm::SlidingLog(Refusals::Ignore)) },
        Case { name: "token bucket", set_up: || checked(Algorithm::TokenBucket) },
    ],
);

/// Checks keys against a limit of twice their rate.
fn checked(algorithm: Algorithm) -> Repeat {
    let quota = Quota::per_second(2_000);
    let limiter = Limiter::new(algorithm, &[quota], 1_000).expect("the quota can be kept");
    let hasher = hasher();
    Turns::new(1_000, Spread::Uniform).check(Outcome::Allowed, move |key, now| {
        limiter.decide(hasher.hash(&number(key)), 0, 1, now).is_allowed()
    })
}

/// The memory of a key in our limiters, GCRA first, and in governor's.
pub(crate) const KEY_MEMORY: Group = Group::new(
    "key-memory",
    &[
        Case { name: "Limiter, GCRA, any key", set_up: || ours(Algorithm::Gcra) },
        Case {
            name: "Limiter, fixed window, any key",
            set_up: || ours(Algorithm::FixedWindow(Alignment::Epoch)),
        },
        Case {
            name: "Limiter, sliding counter, any key",
            set_up: || ours(Algorithm::SlidingCounter),
        },
        Case {
            name: "Limiter, sliding log of one event, any key",
            set_up: || ours(Algorithm::SlidingLog(Refusals::Ignore)),
        },
        Case { name: "governor, u64", set_up: || governor(number) },
        Case { name: "governor, IpAddr", set_up: || governor(address) },
        Case { name: "governor, String", set_up: || governor(|key| address(key).to_string()) },
    ],
);

fn ours(algorithm: Algorithm) -> Repeat {
    Repeat::new(move |keys| {
        let places = usize::try_from(keys.max(1)).expect("there are fewer keys than bytes");
        let limiter = Limiter::new(algorithm, &[MEASURED], places);
        let limiter = limiter.expect("the quota can be kept");
        let hasher = hasher();
        for key in numbered(keys) {
            let charged = limiter.charge(hasher.hash(&number(key)), 0, 1, OPENING);
            assert!(charged.is_ok(), "a new key is allowed");
        }
        mem::forget(limiter);
    })
}

/// The quota of the keys whose memory is measured. A log may keep as many events for each key, and a
/// million of such keys must stay below the largest memory that a limiter accepts.
const MEASURED: Quota = Quota::per_day(100);

fn governor<K: Hash + Eq + Clone + 'static>(key: fn(u32) -> K) -> Repeat {
    Repeat::new(move |keys| {
        let limiter = RateLimiter::keyed(governor_quota(Outcome::Allowed));
        for number in numbered(keys) {
            assert!(limiter.check_key(&key(number)).is_ok(), "a new key is allowed");
        }
        mem::forget(limiter);
    })
}

fn numbered(keys: u64) -> std::ops::Range<u32> {
    0..u32::try_from(keys).expect("there are fewer")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases run with fewer keys if the build is not optimized.
    #[test]
    fn a_limiter_accepts_a_million_of_the_keys_that_are_measured() {
        let log = Algorithm::SlidingLog(Refusals::Ignore);
        for algorithm in [Algorithm::Gcra, Algorithm::SlidingCounter, log] {
            Limiter::validate(algorithm, &[MEASURED], 1_000_000).unwrap();
        }
    }
}
