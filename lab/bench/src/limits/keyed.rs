//! The check of one key among many, by our limiter and by governor's.
//!
//! A [`Limiter`] receives the time as an argument, and governor reads its clock in each check. So
//! the comparable rows are those in which our limiter reads the same clock.

use std::{
    hash::Hash,
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU32,
    time::Duration,
};

use governor::{
    Quota as GovernorQuota, RateLimiter,
    clock::{Clock as _, QuantaClock, Reference},
};
use waiting_room_core::{
    Limiter, Quota, Timestamp,
    rate::{Algorithm, Alignment, KeyHash, KeyHasher, Refusals},
    time::{Clock, SystemClock},
};

use super::turns::{
    OPENING,
    Outcome::{self, Allowed, Refused},
    Spread::{self, Uniform, Zipf},
    Turns,
};
use crate::case::{Case, Figures, Group, Repeat};

/// One key.
pub(crate) const ONE: Group =
    Group::new("key-of-one", "The check of a key by GCRA, 1 key", &cases::<1>());
/// A thousand keys, which fit into the caches of a core.
pub(crate) const THOUSAND: Group =
    Group::new("key-of-thousand", "The check of a key by GCRA, 1 000 keys", &cases::<1_000>());
/// A million keys, which do not fit into the caches.
pub(crate) const MILLION: Group =
    Group::new("key-of-million", "The check of a key by GCRA, 1 000 000 keys", &cases::<MANY>())
        .showing(Figures::Times);

/// Checks on two threads at once.
pub(crate) const TWO_THREADS: Group = Group::new(
    "key-on-two-threads",
    "The check of a key on two threads at once",
    &[
        Case { name: "Limiter, 1 key", set_up: || ours_on_two(1, Uniform) },
        Case { name: "Limiter, 1 000 keys", set_up: || ours_on_two(1_000, Uniform) },
        Case { name: "Limiter, 1 000 keys, zipf", set_up: || ours_on_two(1_000, Zipf) },
        Case { name: "Limiter, 1 000 000 keys", set_up: || ours_on_two(MANY, Uniform) },
        Case { name: "Limiter, 1 000 000 keys, zipf", set_up: || ours_on_two(MANY, Zipf) },
        Case { name: "governor, 1 key", set_up: || governor_on_two(1, Uniform) },
        Case { name: "governor, 1 000 keys", set_up: || governor_on_two(1_000, Uniform) },
        Case { name: "governor, 1 000 keys, zipf", set_up: || governor_on_two(1_000, Zipf) },
        Case { name: "governor, 1 000 000 keys", set_up: || governor_on_two(MANY, Uniform) },
        Case { name: "governor, 1 000 000 keys, zipf", set_up: || governor_on_two(MANY, Zipf) },
    ],
)
.showing(Figures::WallTimes);

/// The six algorithms, 1 000 keys, without reading a clock.
pub(crate) const ALGORITHMS: Group = Group::new(
    "algorithms",
    "The check of a key by each algorithm, 1 000 keys",
    &[
        Case { name: "fixed window", set_up: || by(Algorithm::FixedWindow(Alignment::Epoch)) },
        Case { name: "GCRA", set_up: || by(Algorithm::Gcra) },
        Case { name: "leaky queue", set_up: || by(Algorithm::LeakyQueue) },
        Case { name: "sliding counter", set_up: || by(Algorithm::SlidingCounter) },
        Case { name: "sliding log", set_up: || by(Algorithm::SlidingLog(Refusals::Ignore)) },
        Case { name: "token bucket", set_up: || by(Algorithm::TokenBucket) },
    ],
);

/// The number of keys of [`MILLION`]. Without optimization, a million take too long to insert, and
/// the times are meaningless anyway.
pub(super) const MANY: u32 = if cfg!(debug_assertions) { 5_000 } else { 1_000_000 };

const fn cases<const KEYS: u32>() -> [Case; 13] {
    [
        Case { name: "governor", set_up: || governor(KEYS, number, Uniform, Allowed) },
        Case { name: "Limiter, the time given", set_up: || ours(KEYS, given, Uniform, Allowed) },
        Case { name: "Limiter", set_up: || ours(KEYS, quanta(), Uniform, Allowed) },
        Case { name: "Limiter, SystemClock", set_up: || ours(KEYS, system(), Uniform, Allowed) },
        Case { name: "Limiter, zipf", set_up: || ours(KEYS, quanta(), Zipf, Allowed) },
        Case { name: "Limiter, refused", set_up: || ours(KEYS, quanta(), Uniform, Refused) },
        Case { name: "Limiter, IpAddr", set_up: || ours_by_address(KEYS) },
        Case { name: "governor, zipf", set_up: || governor(KEYS, number, Zipf, Allowed) },
        Case { name: "governor, refused", set_up: || governor(KEYS, number, Uniform, Refused) },
        Case { name: "governor, IpAddr", set_up: || governor(KEYS, address, Uniform, Allowed) },
        Case { name: "governor, ahash", set_up: || governor_with_ahash(KEYS, number) },
        Case { name: "governor, ahash, IpAddr", set_up: || governor_with_ahash(KEYS, address) },
        Case { name: "governor direct, no keys", set_up: governor_direct },
    ]
}

fn ours(
    keys: u32,
    clock: impl Fn(Timestamp) -> Timestamp + 'static,
    spread: Spread,
    outcome: Outcome,
) -> Repeat {
    let limiter = limiter(keys, outcome);
    let hasher = hasher();
    Turns::new(keys, spread).check(outcome, move |key, now| {
        limiter.decide(hasher.hash(&number(key)), 0, 1, clock(now)).is_allowed()
    })
}

fn ours_by_address(keys: u32) -> Repeat {
    let limiter = limiter(keys, Allowed);
    let hasher = hasher();
    let clock = quanta();
    Turns::new(keys, Uniform).check(Allowed, move |key, now| {
        limiter.decide(address_hash(&hasher, address(key)), 0, 1, clock(now)).is_allowed()
    })
}

fn ours_on_two(keys: u32, spread: Spread) -> Repeat {
    let limiter = limiter(keys, Allowed);
    let hasher = hasher();
    let clock = quanta();
    Turns::new(keys, spread).check_on_two(move |key, now| {
        limiter.decide(hasher.hash(&number(key)), 0, 1, clock(now)).is_allowed()
    })
}

fn governor<K: Hash + Eq + Clone + 'static>(
    keys: u32,
    key: fn(u32) -> K,
    spread: Spread,
    outcome: Outcome,
) -> Repeat {
    let limiter = RateLimiter::keyed(quota_of_governor(outcome));
    Turns::new(keys, spread).check(outcome, move |turn, _| limiter.check_key(&key(turn)).is_ok())
}

fn governor_with_ahash<K: Hash + Eq + Clone + 'static>(keys: u32, key: fn(u32) -> K) -> Repeat {
    let hasher = ahash::RandomState::with_seeds(3, 1, 4, 1);
    let limiter = RateLimiter::dashmap_with_hasher(governor_quota(), hasher);
    Turns::new(keys, Uniform).check(Allowed, move |turn, _| limiter.check_key(&key(turn)).is_ok())
}

fn governor_on_two(keys: u32, spread: Spread) -> Repeat {
    let limiter = RateLimiter::keyed(governor_quota());
    Turns::new(keys, spread).check_on_two(move |turn, _| limiter.check_key(&number(turn)).is_ok())
}

fn governor_direct() -> Repeat {
    let limiter = RateLimiter::direct(governor_quota());
    Turns::new(1, Uniform).check(Allowed, move |_, _| limiter.check().is_ok())
}

/// Checks keys against a limit of twice their rate.
fn by(algorithm: Algorithm) -> Repeat {
    let quota = Quota::per_second(2_000);
    let limiter = Limiter::new(algorithm, &[quota], 1_000).expect("the quota can be kept");
    let hasher = hasher();
    Turns::new(1_000, Uniform).check(Allowed, move |key, now| {
        limiter.decide(hasher.hash(&number(key)), 0, 1, now).is_allowed()
    })
}

/// Returns the given time, without reading a clock.
fn given(now: Timestamp) -> Timestamp {
    now
}

/// Returns a function that reads the clock of governor.
fn quanta() -> impl Fn(Timestamp) -> Timestamp + Sync {
    let clock = QuantaClock::default();
    let start = clock.now();
    move |_| {
        let since_start = clock.now().duration_since(start).as_u64();
        Timestamp::from_nanos(OPENING.as_nanos() + since_start)
    }
}

/// Returns a function that reads the clock of the layer.
fn system() -> impl Fn(Timestamp) -> Timestamp {
    let clock = SystemClock::new();
    move |_| clock.now()
}

/// Creates a limit that allows every check, or one that the first check of a key uses up.
fn limiter(keys: u32, outcome: Outcome) -> Limiter {
    let quota = match outcome {
        Allowed => Quota::per_second(NEVER_USED_UP.get().into()),
        Refused => Quota::per_day(1),
    };
    let keys = usize::try_from(keys).expect("there are fewer keys than bytes");
    Limiter::new(Algorithm::Gcra, &[quota], keys).expect("the quota can be kept")
}

/// Returns the same limit for governor.
fn quota_of_governor(outcome: Outcome) -> GovernorQuota {
    match outcome {
        Allowed => governor_quota(),
        Refused => {
            GovernorQuota::with_period(Duration::from_secs(86_400)).expect("a day is not nothing")
        }
    }
}

/// Returns a quota of governor that is never used up.
pub(crate) const fn governor_quota() -> GovernorQuota {
    GovernorQuota::per_second(NEVER_USED_UP)
}

pub(crate) fn hasher() -> KeyHasher {
    KeyHasher::new([3, 1, 4, 1])
}

/// Returns the number of an account; the numbers are not consecutive.
pub(crate) fn number(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the address of a client; the addresses are not consecutive.
pub(crate) fn address(key: u32) -> IpAddr {
    Ipv4Addr::from(key.wrapping_mul(0x9e37_79b1)).into()
}

/// Hashes an address as the layer does.
fn address_hash(hasher: &KeyHasher, address: IpAddr) -> KeyHash {
    match address {
        IpAddr::V4(address) => hasher.hash(&address.to_bits()),
        IpAddr::V6(address) => hasher.hash(&address.to_bits()),
    }
}

/// One per nanosecond: more than any caller can check.
const NEVER_USED_UP: NonZeroU32 = NonZeroU32::new(1_000_000_000).expect("it is not zero");
