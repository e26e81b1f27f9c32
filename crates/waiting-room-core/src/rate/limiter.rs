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

    /// How many keys that were in use have lost their places to others so far, because more were in use
    /// than [`max_keys`](Self::max_keys).
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.memory.displaced()
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
mod tests;
