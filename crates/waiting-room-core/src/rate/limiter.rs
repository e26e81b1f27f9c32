//! One limit, for many keys.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    Algorithm, Charge, Decision, KeyHash, Quota,
    memory::{Memory, bytes_per_key, remember},
};
use crate::{ConfigError, ConfigErrorKind, Timestamp, sync::unpoisoned};

/// A limit with its memory of keys.
///
/// Every key has the first of its quotas, unless it is asked for in another *tier*. By the token
/// bucket, GCRA and the leaky queue, a key that changes its tier keeps what it has used; windows and
/// logs count in each tier by itself.
///
/// Clones are the same limiter.
///
/// ```
/// use waiting_room_core::{Algorithm, KeyHasher, Limiter, Quota, Timestamp};
///
/// let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_minute(2)], 1_000)?;
/// let key = KeyHasher::new([3, 1, 4, 1]).hash("ann");
/// let now = Timestamp::from_secs(1_000);
/// assert!(limiter.charge(key, 0, 1, now).is_ok());
/// assert!(limiter.charge(key, 0, 1, now).is_ok());
/// assert!(limiter.charge(key, 0, 1, now).is_err());
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Limiter {
    algorithm: Algorithm,
    keys: usize,
    /// Locked while they are changed.
    quotas: Arc<Mutex<Vec<Quota>>>,
    memory: Arc<dyn Memory>,
}

impl Limiter {
    /// The most keys that a limiter remembers.
    pub const MAX_KEYS: usize = 100_000_000;
    /// The most memory that a limiter may come to take, in bytes: 4 GiB.
    pub const MAX_BYTES: u64 = 4 << 30;
    /// The most tiers.
    pub const MAX_TIERS: usize = 64;

    /// A limiter by this algorithm, with a quota for each tier, that remembers so many keys that
    /// are in use at a time. What it does when there are more is said in the [crate
    /// docs](crate#rate-limits).
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot keep, or a number that is out of bounds, such as the
    /// product of the keys and the bytes that each can take.
    pub fn new(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Result<Self, ConfigError> {
        Self::validate(algorithm, quotas, keys)?;
        let memory = remember(algorithm, quotas, keys);
        Ok(Self { algorithm, keys, quotas: Arc::new(Mutex::new(quotas.to_vec())), memory })
    }

    /// Checks all that [`new`](Self::new) checks, and makes nothing.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot keep, or a number that is out of bounds.
    pub fn validate(
        algorithm: Algorithm,
        quotas: &[Quota],
        keys: usize,
    ) -> Result<(), ConfigError> {
        let wrong = |kind, field, given: usize, expected: &str| {
            Err(ConfigError::new(kind, field, given, expected))
        };
        match quotas.len() {
            0 => return wrong(ConfigErrorKind::Missing, "quotas", 0, "from 1 to 64"),
            1..=Self::MAX_TIERS => {}
            many => return wrong(ConfigErrorKind::TooLarge, "quotas", many, "from 1 to 64"),
        }
        match keys {
            0 => return wrong(ConfigErrorKind::TooSmall, "max_keys", 0, "at least 1"),
            1..=Self::MAX_KEYS => {}
            many => {
                let expected = "at most 100000000";
                return wrong(ConfigErrorKind::TooLarge, "max_keys", many, expected);
            }
        }
        quotas.iter().try_for_each(|quota| quota.validate(algorithm))?;
        let bytes = Self::most_bytes(algorithm, quotas, keys);
        if bytes > Self::MAX_BYTES {
            let for_each = bytes_per_key(algorithm, quotas);
            let given = format!("{keys}, with {for_each} bytes for each key {bytes} bytes");
            let expected = format!(
                "at most {} bytes: fewer keys, a smaller limit, or the sliding counter",
                Self::MAX_BYTES,
            );
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "max_keys", given, expected));
        }
        Ok(())
    }

    /// The memory that such a limiter takes in bytes if as many keys are in use as it has places
    /// for, and each has used up its quota, in the worst way for its algorithm.
    ///
    /// The token bucket, GCRA and the leaky queue take it from the start; the others as keys come,
    /// and a sliding log as requests come: it has a place for each time at which something was
    /// spent. `u64::MAX` if it is more than that.
    ///
    /// ```
    /// use waiting_room_core::{Algorithm, Limiter, Quota, Refusals};
    ///
    /// let log = Algorithm::SlidingLog(Refusals::Ignore);
    /// let bytes = |limit| Limiter::most_bytes(log, &[Quota::per_hour(limit)], 1_000);
    /// assert!(bytes(100) < 2_000_000);
    /// assert!(bytes(1_000_000) > Limiter::MAX_BYTES);
    /// ```
    #[must_use]
    pub fn most_bytes(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> u64 {
        bytes_per_key(algorithm, quotas).saturating_mul(keys as u64)
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The quotas in force, by tier.
    #[must_use]
    pub fn quotas(&self) -> Vec<Quota> {
        self.locked_quotas().clone()
    }

    /// How many keys are remembered at most, if all are in use.
    #[must_use]
    pub const fn max_keys(&self) -> usize {
        self.keys
    }

    /// How many keys have a place at the moment, in use or not. Looks at every place.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether no key has a place.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What would be said to a key about this cost. Changes nothing.
    #[must_use]
    pub fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        self.memory.look(key, tier, cost, now)
    }

    /// Spends `cost` for a key, if that is allowed.
    ///
    /// A tier that there is none of is taken for the last.
    ///
    /// # Errors
    ///
    /// The decision to refuse; nothing was spent.
    pub fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        if cost == 0 {
            return Ok((self.look(key, tier, 0, now), Charge::new(0, now, 0)));
        }
        self.memory.charge(key, tier, cost, now)
    }

    /// Corrects a charge to what it really cost: gives back the rest, or spends what is missing,
    /// as a debt if need be.
    pub fn settle(
        &self,
        key: KeyHash,
        tier: usize,
        charge: &mut Charge,
        cost: u64,
        now: Timestamp,
    ) {
        self.memory.settle(key, tier, charge, cost, now);
    }

    /// Forgets what a key has used.
    pub fn forgive(&self, key: KeyHash) {
        self.memory.forgive(key);
    }

    /// The same limiter with other quotas: what was used stays used, and nobody waits longer than the
    /// new quotas can make them. Whoever still has the old one goes by the new quotas as well.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot keep; the old ones stay.
    pub fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Result<Self, ConfigError> {
        Self::validate(self.algorithm, quotas, self.keys)?;
        let mut in_force = self.locked_quotas();
        if *in_force == quotas {
            return Ok(self.clone());
        }
        *in_force = quotas.to_vec();
        Ok(Self { memory: self.memory.with_quotas(quotas, now), ..self.clone() })
    }

    fn locked_quotas(&self) -> MutexGuard<'_, Vec<Quota>> {
        unpoisoned(self.quotas.lock())
    }

    /// Whether a refusal changes something.
    pub(super) fn counts_refusals(&self) -> bool {
        self.algorithm == Algorithm::SlidingLog(super::Refusals::Count)
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("algorithm", &self.algorithm)
            .field("quotas", &self.quotas())
            .field("max_keys", &self.keys)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Alignment, KeyHasher, Refusals};

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
                let allowed =
                    (0..9).filter(|_| limiter.charge(key(name), 0, 1, NOW).is_ok()).count();
                assert_eq!(allowed, 5, "{algorithm:?}");
            }
            assert_eq!(limiter.len(), 2);
            limiter.forgive(key("ann"));
            assert!(limiter.look(key("ann"), 0, 5, NOW).allowed, "{algorithm:?}");
            assert!(!limiter.look(key("bob"), 0, 1, NOW).allowed, "{algorithm:?}");
        }
    }

    #[test]
    fn a_charge_is_settled_as_often_as_one_likes_and_counts_once() {
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
        }
    }

    #[test]
    fn what_is_given_back_in_parts_is_no_more_than_time_has_left() {
        let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_second(10)], 100).unwrap();
        let ann = key("ann");
        let (_, mut charge) = limiter.charge(ann, 0, 10, NOW).unwrap();
        let later = NOW + Duration::from_millis(500);
        limiter.settle(ann, 0, &mut charge, 5, later);
        assert_eq!(limiter.look(ann, 0, 0, later).remaining, 10);
        // Nothing of it is left, so that what others spend meanwhile is theirs.
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
    fn what_all_keys_can_take_together_is_bounded_by_name() {
        let log = |limit, keys| Limiter::validate(LOG, &[Quota::per_hour(limit)], keys);
        let error = log(1_000_000, 65_536).unwrap_err();
        assert_eq!(
            error.to_string(),
            "max_keys is 65536, with 16000133 bytes for each key 1048584716288 bytes, expected at \
             most 4294967296 bytes: fewer keys, a smaller limit, or the sliding counter"
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
    fn a_quota_that_cannot_be_kept_is_refused_with_its_field() {
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
                "limit is 2000000000 per 1 s, expected at most one a nanosecond; count in larger \
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
    fn tiers_with_other_windows_keep_out_of_each_others_states() {
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
    fn a_charge_under_quotas_that_were_changed_means_no_more_than_it_did() {
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
    fn quotas_may_change_under_traffic_and_keep_nobody_out_for_longer_than_they_can() {
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
            // Two seconds for what was used, and two for a counter of two windows.
            let out = keys.iter().filter(|&&key| !limiter.look(key, 0, 20, after(5)).allowed);
            assert_eq!(out.count(), 0, "{algorithm:?}");
        }
    }

    #[test]
    fn newcomers_after_a_flood_begin_with_no_more_than_changed_quotas_can_mean() {
        let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_day(1)], 1).unwrap();
        for number in 0..40_u64 {
            let flooding = key(&number.to_string());
            limiter.settle(flooding, 0, &mut Charge::new(0, NOW, 0), 1, NOW);
        }
        let limiter = limiter.with_quotas(&[Quota::per_second(100)], NOW).unwrap();
        assert!(limiter.charge(key("newcomer"), 0, 1, after(2)).is_ok());
    }

    #[test]
    fn who_is_used_up_makes_room_after_those_who_are_replenished_sooner() {
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
    fn to_forgive_a_stranger_forgives_nobody() {
        for algorithm in ALL {
            let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 8).unwrap();
            let keys: Vec<_> = (0..16).map(|number: u64| key(&number.to_string())).collect();
            keys.iter().for_each(|&key| _ = limiter.charge(key, 0, 2, NOW));
            limiter.forgive(key("stranger"));
            let forgiven = keys.iter().filter(|&&key| limiter.look(key, 0, 1, NOW).allowed);
            assert_eq!(forgiven.count(), 0, "{algorithm:?}");
        }
    }

    #[test]
    fn a_look_at_a_newcomer_in_a_full_table_sees_what_its_charge_will_see() {
        for algorithm in ALL {
            let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 1).unwrap();
            for number in 0..32_u64 {
                _ = limiter.charge(key(&number.to_string()), 0, 2, NOW);
            }
            let looked = limiter.look(key("newcomer"), 0, 1, NOW).allowed;
            assert_eq!(looked, limiter.charge(key("newcomer"), 0, 1, NOW).is_ok());
            assert!(!looked, "{algorithm:?}");
        }
    }

    #[test]
    fn what_costs_nothing_takes_no_place() {
        for algorithm in ALL {
            let limiter = Limiter::new(algorithm, &[Quota::per_minute(2)], 1).unwrap();
            assert!(limiter.charge(key("ann"), 0, 0, NOW).is_ok());
            assert!(limiter.is_empty(), "{algorithm:?}");
        }
    }
}
