//! One limit for many keys, in the memory of one process.
//!
//! A [`Limiter`] combines an algorithm, the quotas of its tiers, and a table of states that is
//! bounded by construction. It decides and charges in one atomic step for each key, so concurrent
//! requests of one key can never spend more than the quota together.
//!
//! It does not decide about several limits at once (see [`charge_all`](super::charge_all)), and it
//! shares nothing with other processes (see [`RateStore`](super::RateStore)).

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    Algorithm, Charge, Decision, KeyHash, Quota,
    memory::{Memory, bytes_per_key, remember},
};
use crate::{ConfigError, Timestamp, error::ConfigErrorKind, sync::unpoisoned};

/// A rate limit with its memory of keys.
///
/// Each quota of the limiter is a *tier*, addressed by its index; tier 0 is the usual one. With the
/// token bucket, GCRA and the leaky queue, a key that moves to another tier keeps what it has used.
/// With the fixed window, the sliding log and the sliding counter, each tier counts separately.
///
/// Clones share all state.
///
/// ```
/// use waiting_room_core::{Limiter, Quota, Timestamp, rate::{Algorithm, KeyHasher}};
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
    /// The number of keys in use that the memory has room for.
    keys: usize,
    /// The quotas in force, by tier. The lock is held for the whole of a change, so that concurrent
    /// changes reach the memory in the same order. A charge does not take it.
    quotas: Arc<Mutex<Vec<Quota>>>,
    memory: Arc<dyn Memory>,
}

impl Limiter {
    /// The largest number of keys in use that a limiter can be made for.
    pub const MAX_KEYS: usize = 100_000_000;
    /// The largest amount of memory that a limiter may grow to, in bytes: 4 GiB.
    pub const MAX_BYTES: u64 = 4 << 30;
    /// The largest number of tiers.
    pub const MAX_TIERS: usize = 64;

    /// Creates a limiter with one quota for each tier, and room for `keys` keys in use at a time.
    ///
    /// A key is in use until everything that it has spent is replenished. The [crate
    /// docs](crate#rate-limits) describe what happens when more keys are in use.
    ///
    /// # Errors
    ///
    /// Returns an error for a quota that the algorithm cannot keep, and for a number that is out of
    /// bounds. One of the bounds is [`MAX_BYTES`](Self::MAX_BYTES), for the product of the keys and
    /// the memory that each can take.
    pub fn new(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Result<Self, ConfigError> {
        Self::validate(algorithm, quotas, keys)?;
        let memory = remember(algorithm, quotas, keys);
        Ok(Self { algorithm, keys, quotas: Arc::new(Mutex::new(quotas.to_vec())), memory })
    }

    /// Checks everything that [`new`](Self::new) checks, and allocates nothing.
    ///
    /// # Errors
    ///
    /// Returns an error for a quota that the algorithm cannot keep, and for a number that is out of
    /// bounds.
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

    /// The most memory that such a limiter can take, in bytes: with `keys` keys in use, each of
    /// which has used up its quota in the worst way for the algorithm.
    ///
    /// The token bucket, GCRA and the leaky queue allocate all of it at once. The other algorithms
    /// allocate as keys arrive. A sliding log also allocates as requests arrive, because it stores
    /// each time at which something was spent. The result saturates at `u64::MAX`.
    ///
    /// ```
    /// use waiting_room_core::{Limiter, Quota, rate::{Algorithm, Refusals}};
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

    /// The algorithm that decides about charges.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The quotas in force, by tier.
    #[must_use]
    pub fn quotas(&self) -> Vec<Quota> {
        self.locked_quotas().clone()
    }

    /// The number of keys in use that the limiter has room for.
    #[must_use]
    pub const fn max_keys(&self) -> usize {
        self.keys
    }

    /// The number of keys that have a place in the table, in use or not.
    ///
    /// This visits every place of the table. It is meant for metrics, not for requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns whether no key has a place. Like [`len`](Self::len), this visits every place.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of keys that have lost their places to others while they were in use.
    ///
    /// It grows when more keys are in use than [`max_keys`](Self::max_keys). Each of them shares
    /// the state of its network from then on, and newcomers of that network may be refused.
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.memory.displaced()
    }

    /// Returns the decision that a charge of `cost` would get now, without charging anything.
    #[must_use]
    pub fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        self.memory.look(key, tier, cost, now)
    }

    /// Spends `cost` for a key if that is allowed.
    ///
    /// An index beyond the last tier means the last tier. A cost of zero is always allowed, and
    /// gives the key no place.
    ///
    /// # Errors
    ///
    /// Returns the decision if the cost exceeds the limit. Nothing was spent.
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

    /// Corrects a charge to its actual cost: gives back the difference, or spends it.
    ///
    /// A difference that exceeds the limit is spent all the same, as a debt that delays later
    /// requests of the key. `charge` is replaced by the receipt for `cost`, so a charge can be
    /// settled repeatedly. A key that has lost its place since gets nothing back, and its receipt
    /// stays as it is.
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

    /// Forgets what a key has used, in all tiers.
    ///
    /// A key without a place is not affected: what it shares with other keys of its network stays.
    pub fn forgive(&self, key: KeyHash) {
        self.memory.forgive(key);
    }

    /// Changes the quotas, and returns the limiter that has them.
    ///
    /// What keys have used stays used, but no key waits longer than the new quotas alone could make
    /// it wait. Other clones of this limiter apply the new quotas as well, for the tiers that both
    /// have.
    ///
    /// # Errors
    ///
    /// Returns an error for a quota that the algorithm cannot keep. The old quotas stay in force.
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

    /// Returns whether a refused charge changes the state of its key.
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
