//! One limit, for many keys.

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use super::{
    Algorithm, Charge, Decision, FixedWindow, Gcra, KeyHash, LeakyQueue, Meter, Quota,
    SlidingCounter, SlidingLog, TokenBucket,
    table::{Shelves, Words},
};
use crate::{ConfigError, ConfigErrorKind, Timestamp};

/// A limit with its memory of keys.
///
/// Every key has the first of its quotas, unless it is asked for in another *tier*. All tiers share
/// one memory: a key that changes its tier keeps what it has used.
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
    quotas: Arc<[Quota]>,
    keys: usize,
    memory: Arc<dyn Memory>,
}

impl Limiter {
    /// The most keys that a limiter remembers.
    pub const MAX_KEYS: usize = 100_000_000;
    /// The most tiers.
    pub const MAX_TIERS: usize = 64;

    /// A limiter by this algorithm, with a quota for each tier, that remembers so many keys that
    /// are in use at a time. What it does when there are more is said in the [crate
    /// docs](crate#rate-limits).
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot keep, or a number that is out of bounds.
    pub fn new(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Result<Self, ConfigError> {
        Self::validate(algorithm, quotas, keys)?;
        let memory = remember(algorithm, quotas, keys);
        Ok(Self { algorithm, quotas: quotas.into(), keys, memory })
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
        quotas.iter().try_for_each(|quota| quota.validate(algorithm))
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The quotas, by tier.
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
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

    /// The same limit with other quotas and the same memory: what was used stays used, and nobody
    /// waits longer than the new quotas can make them.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot keep.
    pub fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Result<Self, ConfigError> {
        Self::validate(self.algorithm, quotas, self.keys)?;
        let memory = self.memory.with_quotas(quotas, now);
        Ok(Self { quotas: quotas.into(), memory, ..self.clone() })
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
            .field("quotas", &self.quotas)
            .field("max_keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// The states of many keys, and the meters that read them.
trait Memory: Send + Sync {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision;
    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision>;
    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp);
    fn forgive(&self, key: KeyHash);
    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory>;
    fn len(&self) -> usize;
}

/// The meters of all tiers, and how to make others.
struct Meters<M> {
    tiers: Box<[M]>,
    make: Arc<dyn Fn(&Quota) -> M + Send + Sync>,
}

impl<M: Meter> Meters<M> {
    fn new(quotas: &[Quota], make: impl Fn(&Quota) -> M + Send + Sync + 'static) -> Self {
        Self { tiers: quotas.iter().map(&make).collect(), make: Arc::new(make) }
    }

    fn with_quotas(&self, quotas: &[Quota]) -> Self {
        let tiers = quotas.iter().map(|quota| (self.make)(quota)).collect();
        Self { tiers, make: Arc::clone(&self.make) }
    }

    fn of(&self, tier: usize) -> &M {
        self.tiers.get(tier).or(self.tiers.last()).expect("a limiter has a quota")
    }

    /// Takes a state over from other meters. Of whom it is nobody knows, so no tier is favoured:
    /// the state is the most used that any tier makes of it.
    fn take_over(&self, state: &mut M::State, from: &Self, now: Timestamp) {
        let states = self.tiers.iter().enumerate().map(|(tier, meter)| {
            let mut state = state.clone();
            meter.take_over(&mut state, from.of(tier), now);
            state
        });
        if let Some(most) = states.max_by_key(|state| self.of(0).used(state, now)) {
            *state = most;
        }
    }
}

/// Meters whose state is one number.
struct InWords<M> {
    meters: Meters<M>,
    words: Arc<Words>,
}

impl<M: Meter<State = u64> + 'static> Memory for InWords<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        self.meters.of(tier).look(&self.words.get(key), cost, now)
    }

    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        let meter = self.meters.of(tier);
        // As `Meter::check`, but nothing is described before the number is settled: a number that
        // another thread has changed is tried again.
        let mut last = 0;
        let taken = self.words.update(key, |word| {
            let taken = meter.take(word, cost, now);
            last = *word;
            taken.ok_or(())
        });
        match taken {
            Ok((delay, charge)) => {
                let decision = meter.describe(&last, Some(Duration::ZERO), now);
                Ok((decision.with_delay(delay), charge))
            }
            Err(()) => Err(meter.describe(&last, meter.wait(&last, cost, now), now)),
        }
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !self.words.knows(key) {
            return;
        }
        let meter = self.meters.of(tier);
        let Ok(settled) = self
            .words
            .update(key, |word| Ok::<_, Infallible>(settle(meter, word, charge, cost, now)));
        *charge = settled;
    }

    fn forgive(&self, key: KeyHash) {
        if self.words.knows(key) {
            let Ok(()) = self.words.update(key, |word| {
                *word = 0;
                Ok::<_, Infallible>(())
            });
        }
    }

    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory> {
        let meters = self.meters.with_quotas(quotas);
        self.words.update_all(|mut word| {
            meters.take_over(&mut word, &self.meters, now);
            word
        });
        Arc::new(Self { meters, words: Arc::clone(&self.words) })
    }

    fn len(&self) -> usize {
        self.words.len()
    }
}

/// Meters with a state of any size.
struct OnShelves<M: Meter> {
    meters: Meters<M>,
    shelves: Arc<Shelves<M::State>>,
}

impl<M: Meter + 'static> OnShelves<M> {
    fn update<T>(
        &self,
        key: KeyHash,
        tier: usize,
        now: Timestamp,
        change: impl Fn(&M, &mut M::State) -> T,
    ) -> T {
        let meter = self.meters.of(tier);
        self.shelves.update(key, |state| change(meter, state), |state| meter.used(state, now))
    }
}

impl<M: Meter + 'static> Memory for OnShelves<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        self.shelves.look(key, |state| self.meters.of(tier).look(state, cost, now))
    }

    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        self.update(key, tier, now, |meter, state| meter.check(state, cost, now))
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !self.shelves.knows(key) {
            return;
        }
        *charge =
            self.update(key, tier, now, |meter, state| settle(meter, state, charge, cost, now));
    }

    fn forgive(&self, key: KeyHash) {
        self.update(key, 0, Timestamp::ZERO, |_, state| *state = M::State::default());
    }

    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory> {
        let meters = self.meters.with_quotas(quotas);
        self.shelves.update_all(|state| meters.take_over(state, &self.meters, now));
        Arc::new(Self { meters, shelves: Arc::clone(&self.shelves) })
    }

    fn len(&self) -> usize {
        self.shelves.len()
    }
}

/// Corrects a charge; gives the receipt for what it cost at last.
fn settle<M: Meter>(
    meter: &M,
    state: &mut M::State,
    charge: &Charge,
    cost: u64,
    now: Timestamp,
) -> Charge {
    let Some(missing) = cost.checked_sub(charge.cost) else {
        return meter.refund(state, charge, charge.cost - cost, now);
    };
    meter.spend(state, missing, now);
    // What was spent later is given back as if it had been spent with the first: at most less.
    Charge { cost, ..*charge }
}

fn remember(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Arc<dyn Memory> {
    fn in_words<M: Meter<State = u64> + 'static>(
        meters: Meters<M>,
        keys: usize,
    ) -> Arc<dyn Memory> {
        Arc::new(InWords { meters, words: Arc::new(Words::new(keys)) })
    }
    fn on_shelves<M: Meter + 'static>(meters: Meters<M>, keys: usize) -> Arc<dyn Memory> {
        Arc::new(OnShelves { meters, shelves: Arc::new(Shelves::new(keys)) })
    }
    match algorithm {
        Algorithm::FixedWindow(alignment) => {
            let make = move |quota: &Quota| FixedWindow::new(quota, alignment);
            on_shelves(Meters::new(quotas, make), keys)
        }
        Algorithm::Gcra => in_words(Meters::new(quotas, Gcra::new), keys),
        Algorithm::LeakyQueue => in_words(Meters::new(quotas, LeakyQueue::new), keys),
        Algorithm::SlidingCounter => on_shelves(Meters::new(quotas, SlidingCounter::new), keys),
        Algorithm::SlidingLog(refusals) => {
            let make = move |quota: &Quota| SlidingLog::new(quota, refusals);
            on_shelves(Meters::new(quotas, make), keys)
        }
        Algorithm::TokenBucket => in_words(Meters::new(quotas, TokenBucket::new), keys),
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
}
