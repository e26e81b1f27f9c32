mod charging;

use std::{collections::HashMap, time::Duration};

use proptest::{prelude::*, test_runner::TestCaseResult};

use super::*;
use crate::rate::{
    Alignment, FixedWindow, Gcra, KeyHasher, Meter, Refusals, SlidingCounter, SlidingLog,
};

const ALL: [Algorithm; 6] = [
    Algorithm::FixedWindow(Alignment::Epoch),
    Algorithm::Gcra,
    Algorithm::LeakyQueue,
    Algorithm::SlidingCounter,
    Algorithm::SlidingLog(Refusals::Ignore),
    Algorithm::TokenBucket,
];

const NOW: Timestamp = Timestamp::from_secs(60_000);

fn key(name: &str) -> KeyHash {
    KeyHasher::new([3, 1, 4, 1]).hash(name)
}

#[test]
fn each_algorithm_keeps_its_keys_apart_and_to_their_quota() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(5)], 100).unwrap();
        for name in ["ann", "bob"] {
            let allowed = (0..9).filter(|_| limiter.charge(key(name), 0, 1, NOW).is_ok()).count();
            assert_eq!(allowed, 5, "{algorithm:?}");
        }
        assert_eq!(limiter.len(), 2);
        limiter.forgive(key("ann"));
        assert!(limiter.look(key("ann"), 0, 5, NOW).allowed, "{algorithm:?}");
        assert!(!limiter.look(key("bob"), 0, 1, NOW).allowed, "{algorithm:?}");
    }
}

#[test]
fn a_charge_that_is_settled_repeatedly_counts_once() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(10)], 100).unwrap();
        let ann = key("ann");
        let (_, mut charge) = limiter.charge(ann, 0, 8, NOW).unwrap();
        for (cost, remaining) in [(3, 7), (3, 7), (0, 10), (0, 10)] {
            limiter.settle(ann, 0, &mut charge, cost, NOW);
            let decision = limiter.look(ann, 0, 0, NOW);
            assert_eq!(decision.remaining, remaining, "{algorithm:?} settled to {cost}");
        }
        limiter.settle(ann, 0, &mut charge, 12, NOW);
        assert_eq!(limiter.look(ann, 0, 0, NOW).remaining, 0, "{algorithm:?}");

        // A charge of zero units gives the key no place, and can also be settled.
        let bob = key("bob");
        let (_, mut charge) = limiter.charge(bob, 0, 0, NOW).unwrap();
        for (cost, remaining) in [(0, 10), (4, 6), (1, 9), (0, 10)] {
            limiter.settle(bob, 0, &mut charge, cost, NOW);
            let decision = limiter.look(bob, 0, 0, NOW);
            assert_eq!(decision.remaining, remaining, "{algorithm:?} settled to {cost}");
        }
    }
}

#[test]
fn partial_refunds_return_no_more_than_is_still_charged() {
    let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_second(10)], 100).unwrap();
    let ann = key("ann");
    let (_, mut charge) = limiter.charge(ann, 0, 10, NOW).unwrap();
    let later = NOW + Duration::from_millis(500);
    limiter.settle(ann, 0, &mut charge, 5, later);
    assert_eq!(limiter.look(ann, 0, 0, later).remaining, 10);
    // Nothing is left of the charge, so refunding it must not cover what was spent since.
    limiter.charge(ann, 0, 5, later).unwrap();
    limiter.settle(ann, 0, &mut charge, 0, later);
    assert_eq!(limiter.look(ann, 0, 0, later).remaining, 5);
}

#[test]
fn a_flood_of_keys_forgives_no_offender() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 64).unwrap();
        limiter.charge(key("offender"), 0, 2, NOW).unwrap();
        for number in 0..10_000_u64 {
            _ = limiter.charge(KeyHasher::new([3, 1, 4, 1]).hash(&number), 0, 1, NOW);
        }
        let refused = limiter.charge(key("offender"), 0, 1, NOW).is_err();
        assert!(refused, "{algorithm:?}");
        assert!(limiter.len() <= 2 * limiter.max_keys());
    }
}

#[test]
fn a_table_has_at_least_one_key_and_not_too_many() {
    for (keys, message) in [
        (0, "max_keys is 0, expected at least 1"),
        (100_000_001, "max_keys is 100000001, expected at most 100000000"),
    ] {
        let error = Limiter::new(Algorithm::Gcra, &[Quota::per_minute(1)], keys).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_memory_of_all_keys_is_bounded_by_a_named_limit() {
    let log = |limit, keys| Limiter::validate(LOG, &[Quota::per_hour(limit)], keys);
    let error = log(1_000_000, 65_536).unwrap_err();
    assert_eq!(
        error.to_string(),
        "max_keys is 65536 (16000167 bytes per key, 1048586944512 bytes in total), expected at \
         most 4294967296 bytes; try fewer keys, a smaller limit, or the sliding counter"
    );
    assert!(log(1_000_000, 268).is_ok());
    assert!(log(1_000_000, 269).is_err());
    assert!(log(1_000, 65_536).is_ok());

    let tiers = [Quota::per_hour(2_500), Quota::per_hour(2_500)];
    assert!(Limiter::validate(LOG, &tiers[..1], 65_536).is_ok());
    assert!(Limiter::validate(LOG, &tiers, 65_536).is_err());
    for algorithm in [Algorithm::Gcra, Algorithm::LeakyQueue, Algorithm::TokenBucket] {
        let tiers = [Quota::per_minute(60); Limiter::MAX_TIERS];
        assert!(Limiter::validate(algorithm, &tiers, Limiter::MAX_KEYS).is_ok());
    }
}

#[test]
fn an_impossible_quota_is_refused_with_its_field() {
    let day = Duration::from_secs(86_400);
    for (algorithm, quota, message) in [
        (
            Algorithm::Gcra,
            Quota::per_minute(10).burst(0),
            "burst is 0, expected at least 1; to allow nothing, set the limit to 0",
        ),
        (
            Algorithm::SlidingCounter,
            Quota::per_minute(10).burst(2),
            "burst is 2, expected none: only the token bucket, GCRA and the leaky queue have one",
        ),
        (
            Algorithm::SlidingLog(Refusals::Ignore),
            Quota::per_minute(1_000_001),
            "limit is 1000001, expected at most 1000000 for a sliding log; try the sliding \
             counter",
        ),
        (
            Algorithm::TokenBucket,
            Quota::per_second(2_000_000_000),
            "limit is 2000000000 per 1 s, expected at most one per nanosecond; count in larger \
             units",
        ),
        (
            Algorithm::Gcra,
            Quota::new(1, 367 * day),
            "window is 31708800 s, expected at most 366 days",
        ),
    ] {
        let error = Limiter::new(algorithm, &[quota], 10).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

const LOG: Algorithm = Algorithm::SlidingLog(Refusals::Ignore);
const DAILY: Algorithm = Algorithm::FixedWindow(Alignment::Epoch);

fn after(secs: u64) -> Timestamp {
    NOW + Duration::from_secs(secs)
}

#[test]
fn tiers_with_different_windows_have_separate_states() {
    let ann = key("ann");
    let tiers = [Quota::per_second(10), Quota::per_hour(1_000)];
    let log = Limiter::new(LOG, &tiers, 100).unwrap();
    log.charge(ann, 0, 1, NOW).unwrap();
    assert!(log.look(ann, 1, 1_000, after(7_200)).allowed);

    let tiers = [Quota::per_day(100), Quota::per_minute(10)];
    let daily = Limiter::new(DAILY, &tiers, 1).unwrap();
    daily.charge(ann, 0, 100, NOW).unwrap();
    daily.charge(ann, 1, 1, after(120)).unwrap();
    daily.charge(key("bob"), 1, 1, after(120)).unwrap();
    assert!(!daily.look(ann, 0, 1, after(121)).allowed);

    let tiers = [Quota::per_minute(5), Quota::per_minute(100)];
    let penal = Limiter::new(Algorithm::SlidingLog(Refusals::Count), &tiers, 100).unwrap();
    penal.charge(ann, 1, 100, NOW).unwrap();
    _ = penal.charge(ann, 0, 6, after(1));
    assert!(!penal.look(ann, 1, 1, after(1)).allowed);
}

#[test]
fn a_charge_from_before_a_change_of_quotas_grants_no_more_than_it_did() {
    let ann = key("ann");
    let log = Limiter::new(LOG, &[Quota::per_minute(5)], 100).unwrap();
    let (_, mut charge) = log.charge(ann, 0, 1, NOW).unwrap();
    let newer = log.with_quotas(&[Quota::per_hour(5)], NOW).unwrap();
    log.settle(ann, 0, &mut charge, 2, after(1));
    assert!(newer.look(ann, 0, 5, after(7_200)).allowed);

    let gcra = Limiter::new(Algorithm::Gcra, &[Quota::per_day(1)], 100).unwrap();
    let (_, mut charge) = gcra.charge(ann, 0, 1, NOW).unwrap();
    let newer = gcra.with_quotas(&[Quota::per_minute(10)], NOW).unwrap();
    newer.charge(ann, 0, 10, after(60)).unwrap();
    gcra.settle(ann, 0, &mut charge, 0, after(60));
    assert!(newer.look(ann, 0, 0, after(60)).remaining <= 1);
}

#[test]
fn changing_quotas_under_traffic_extends_no_wait_beyond_the_quota() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_day(20)], 1_000).unwrap();
        let keys: Vec<_> = (0..200).map(|number: u64| key(&number.to_string())).collect();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    keys.iter().for_each(|&key| _ = limiter.charge(key, 0, 1, NOW));
                }
            });
            for _ in 0..20 {
                for quota in [Quota::per_day(20), Quota::per_second(20)] {
                    _ = limiter.with_quotas(&[quota], NOW).unwrap();
                }
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        // The new quota is replenished within one second, or within two for a sliding counter. Five
        // seconds leave a margin.
        let out = keys.iter().filter(|&&key| !limiter.look(key, 0, 20, after(5)).allowed);
        assert_eq!(out.count(), 0, "{algorithm:?}");
    }
}

#[test]
fn newcomers_after_a_flood_inherit_no_more_than_the_changed_quota() {
    let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_day(1)], 1).unwrap();
    for number in 0..40_u64 {
        let flooding = key(&number.to_string());
        limiter.settle(flooding, 0, &mut Charge::new(0, NOW, 0), 1, NOW);
    }
    assert!(limiter.displaced() > 0);
    let limiter = limiter.with_quotas(&[Quota::per_second(100)], NOW).unwrap();
    assert!(limiter.charge(key("newcomer"), 0, 1, after(2)).is_ok());
}

#[test]
fn exhausted_keys_are_displaced_after_keys_that_replenish_sooner() {
    for algorithm in [Algorithm::FixedWindow(Alignment::FirstHit), LOG] {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 8).unwrap();
        let offender = key("offender");
        limiter.charge(offender, 0, 1, NOW).unwrap();
        for number in 0..15_u64 {
            limiter.charge(key(&number.to_string()), 0, 2, after(1)).unwrap();
        }
        limiter.charge(offender, 0, 2, after(60)).unwrap();
        _ = limiter.charge(key("newcomer"), 0, 1, after(60));
        assert!(limiter.charge(offender, 0, 2, after(62)).is_err(), "{algorithm:?}");
    }
}

#[test]
fn a_key_with_units_left_is_displaced_before_an_exhausted_one() {
    for algorithm in [Algorithm::FixedWindow(Alignment::FirstHit), LOG] {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 8).unwrap();
        // The exhausted key is replenished first.
        limiter.charge(key_of(0, "offender"), 0, 2, NOW).unwrap();
        for number in 0..15 {
            limiter.charge(key_of(number, "calm"), 0, 1, after(1)).unwrap();
        }
        limiter.charge(key_of(0, "newcomer"), 0, 1, after(2)).unwrap();
        // Another key of a network starts as if it had used what a displaced key had used.
        let remaining = |network| limiter.look(key_of(99, network), 0, 0, after(2)).remaining;
        assert_eq!((remaining("offender"), remaining("calm")), (2, 1), "{algorithm:?}");
    }
}

#[test]
fn forgiving_an_unknown_key_forgives_no_other() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 8).unwrap();
        let keys: Vec<_> = (0..16).map(|number: u64| key(&number.to_string())).collect();
        keys.iter().for_each(|&key| _ = limiter.charge(key, 0, 2, NOW));
        limiter.forgive(key("stranger"));
        let forgiven = keys.iter().filter(|&&key| limiter.look(key, 0, 1, NOW).allowed);
        assert_eq!(forgiven.count(), 0, "{algorithm:?}");
    }
}

/// A key that belongs to a network.
fn key_of(number: u64, network: &str) -> KeyHash {
    key(&format!("{network} {number}")).of_network(key(network))
}

/// A limiter whose table is full of exhausted keys from one network.
fn flooded(algorithm: Algorithm, keys: usize) -> Limiter {
    let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], keys).unwrap();
    for number in 0..20 * keys as u64 {
        _ = limiter.charge(key_of(number, "flood"), 0, 2, NOW);
    }
    limiter
}

#[test]
fn peeking_at_a_newcomer_of_a_full_table_agrees_with_its_charge() {
    for algorithm in ALL {
        for (network, expected) in [("flood", false), ("other", true)] {
            let limiter = flooded(algorithm, 8);
            let newcomer = key_of(1_000, network);
            let looked = limiter.look(newcomer, 0, 1, NOW).allowed;
            assert_eq!(looked, limiter.charge(newcomer, 0, 1, NOW).is_ok());
            assert_eq!(looked, expected, "{algorithm:?}: {network}");
        }
    }
}

#[test]
fn only_newcomers_of_the_same_network_pay_for_a_flood() {
    for algorithm in ALL {
        let limiter = flooded(algorithm, 1_024);
        let refused = |networks: &dyn Fn(u64) -> String| {
            let is_refused = |number: &u64| {
                limiter.charge(key_of(10_000_000 + number, &networks(*number)), 0, 1, NOW).is_err()
            };
            (0..1_000).filter(is_refused).count()
        };
        assert_eq!(refused(&|_| "flood".to_owned()), 1_000, "{algorithm:?}");
        let others = refused(&|number| format!("network {number}"));
        assert!(others <= 30, "{algorithm:?}: {others} of 1000");
    }
}

#[test]
fn displaced_keys_are_counted_if_they_are_in_use() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_second(2)], 8).unwrap();
        let each_later = |number: u64| NOW + Duration::from_secs(10 * number);
        for number in 0..1_000 {
            _ = limiter.charge(key_of(number, "calm"), 0, 1, each_later(number));
        }
        assert_eq!(limiter.displaced(), 0, "{algorithm:?}");
        assert!(flooded(algorithm, 8).displaced() > 0, "{algorithm:?}");
    }
}

proptest! {
    /// For any sequence of keys, no key is allowed more than if it had never lost its place.
    #[test]
    fn no_key_is_forgiven_by_being_displaced(
        steps in prop::collection::vec((0u64..60, 0u64..20, 1u64..4), 1..300),
    ) {
        allows_no_more(Gcra::new, Algorithm::Gcra, &steps)?;
        // Windows that begin with the first hit are left out, because a window that a key takes
        // over from its network begins at a different time from the key's own window.
        let window = |quota: &Quota| FixedWindow::new(quota, Alignment::Epoch);
        allows_no_more(window, DAILY, &steps)?;
        allows_no_more(SlidingCounter::new, Algorithm::SlidingCounter, &steps)?;
        allows_no_more(|quota| SlidingLog::new(quota, Refusals::Ignore), LOG, &steps)?;
    }
}

fn allows_no_more<M: Meter>(
    meter: impl Fn(&Quota) -> M,
    algorithm: Algorithm,
    steps: &[(u64, u64, u64)],
) -> TestCaseResult {
    let quota = Quota::per_minute(6);
    let meter = meter(&quota);
    let mut own = HashMap::<u64, M::State>::new();
    let limiter = Limiter::new(algorithm, &[quota], 4).unwrap();
    let mut now = NOW;
    for &(who, pause, cost) in steps {
        now = now + Duration::from_secs(pause / 10);
        if limiter.charge(key_of(who, &format!("{}", who % 5)), 0, cost, now).is_ok() {
            let state = own.entry(who).or_default();
            prop_assert!(meter.check(state, cost, now).is_ok(), "{algorithm:?}: {who} at {now:?}");
        }
    }
    Ok(())
}

#[test]
fn a_census_counts_the_keys_and_those_with_at_most_a_fifth_left() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(5)], 100).unwrap();
        for (name, cost) in [("ann", 3), ("bob", 4), ("cat", 5)] {
            limiter.charge(key(name), 0, cost, NOW).unwrap();
        }
        let census = limiter.census(NOW);
        let figures = (census.tracked, census.near_limit, census.is_estimate);
        assert_eq!(figures, (3, 2, false), "{algorithm:?}");
    }
    let tiers = [Quota::per_minute(5), Quota::per_minute(10)];
    let limiter = Limiter::new(Algorithm::SlidingCounter, &tiers, 100).unwrap();
    (0..2).for_each(|tier| _ = limiter.charge(key("ann"), tier, 5, NOW).unwrap());
    assert_eq!((limiter.census(NOW).tracked, limiter.census(NOW).near_limit), (2, 1));
}

#[test]
fn the_census_of_a_large_table_is_estimated_from_a_part_of_it() {
    for algorithm in [Algorithm::Gcra, Algorithm::SlidingCounter] {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 500_000).unwrap();
        for number in 0..20_000_u64 {
            let cost = if number % 4 == 0 { 2 } else { 1 };
            let key = KeyHasher::new([3, 1, 4, 1]).hash(&number);
            limiter.charge(key, 0, cost, NOW).unwrap();
        }
        let census = limiter.census(NOW);
        assert!(census.is_estimate, "{algorithm:?}");
        assert!((19_000..21_000).contains(&census.tracked), "{algorithm:?}: {census:?}");
        assert!((4_500..5_500).contains(&census.near_limit), "{algorithm:?}: {census:?}");
    }
}

#[test]
fn a_cost_of_zero_takes_no_place() {
    for algorithm in ALL {
        let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 1).unwrap();
        assert!(limiter.charge(key("ann"), 0, 0, NOW).is_ok());
        assert!(limiter.is_empty(), "{algorithm:?}");
    }
}
