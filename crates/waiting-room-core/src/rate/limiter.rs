//! One limit, for many keys.

use std::{convert::Infallible, fmt, sync::Arc};

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
        validate(algorithm, quotas)?;
        let wrong = |kind, expected: &str| ConfigError::new(kind, "max_keys", keys, expected);
        if keys == 0 {
            return Err(wrong(ConfigErrorKind::TooSmall, "at least 1"));
        }
        if keys > Self::MAX_KEYS {
            return Err(wrong(ConfigErrorKind::TooLarge, "at most 100000000"));
        }
        let memory = remember(algorithm, quotas, keys);
        Ok(Self { algorithm, quotas: quotas.into(), keys, memory })
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
    pub fn settle(&self, key: KeyHash, tier: usize, charge: &Charge, cost: u64, now: Timestamp) {
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
        validate(self.algorithm, quotas)?;
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
    fn settle(&self, key: KeyHash, tier: usize, charge: &Charge, cost: u64, now: Timestamp);
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
        self.words.update(key, |word| meter.check(word, cost, now))
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &Charge, cost: u64, now: Timestamp) {
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !self.words.knows(key) {
            return;
        }
        let meter = self.meters.of(tier);
        let Ok(()) = self.words.update(key, |word| {
            settle(meter, word, charge, cost, now);
            Ok::<_, Infallible>(())
        });
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

    fn settle(&self, key: KeyHash, tier: usize, charge: &Charge, cost: u64, now: Timestamp) {
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !self.shelves.knows(key) {
            return;
        }
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

fn settle<M: Meter>(meter: &M, state: &mut M::State, charge: &Charge, cost: u64, now: Timestamp) {
    match cost.checked_sub(charge.cost) {
        Some(0) => {}
        Some(missing) => {
            meter.spend(state, missing, now);
        }
        None => meter.refund(state, charge, charge.cost - cost, now),
    }
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

fn validate(algorithm: Algorithm, quotas: &[Quota]) -> Result<(), ConfigError> {
    if quotas.is_empty() || quotas.len() > Limiter::MAX_TIERS {
        let kind = match quotas.is_empty() {
            true => ConfigErrorKind::Missing,
            false => ConfigErrorKind::TooLarge,
        };
        return Err(ConfigError::new(kind, "tiers", quotas.len(), "from 1 to 64"));
    }
    quotas.iter().try_for_each(|quota| quota.validate(algorithm))
}
