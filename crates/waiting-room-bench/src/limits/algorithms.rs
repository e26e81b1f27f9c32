//! The six algorithms, with a thousand keys and the time given.

use waiting_room_core::{Algorithm, Alignment, Limiter, Quota, Refusals};

use super::{
    keyed::{hasher, number},
    turns::{Outcome, Spread, Turns},
};
use crate::case::{Case, Group, Repeat};

/// Each of them.
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

/// A limit of twice what each key asks for.
fn checked(algorithm: Algorithm) -> Repeat {
    let quota = Quota::per_second(2_000);
    let limiter = Limiter::new(algorithm, &[quota], 1_000).expect("the quota can be kept");
    let hasher = hasher();
    Turns::new(1_000, Spread::Uniform).check(Outcome::Allowed, move |key, now| {
        limiter.charge(hasher.hash(&number(key)), 0, 1, now).is_ok()
    })
}
