//! One rate limit for many keys, in the memory of one process.
//!
//! A [`Limiter`] combines an algorithm, the quotas of its tiers, and a table of states that is
//! bounded by construction. A limiter decides and charges in one atomic step for each key, so
//! concurrent requests for one key can never spend more than the quota in total.
//!
//! A limiter handles only one limit. [`charge_all`] charges several limits at once: either all are
//! charged, or none are. A limiter shares nothing with other processes. For limits that several
//! processes share, see [`RateStore`](super::RateStore).
//!
//! ```text
//! look at all but one ─┬─ all allow ──► charge each ─┬─ all allow ──► allowed
//!                      │                             └─ one refuses ► refund the others ──► refused
//!                      └─ one refuses ─► look at that one ────────────────────────────────► refused
//! ```

use std::{
    borrow::BorrowMut,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    Algorithm, Charge, Decision, KeyCensus, KeyHash, LazyDecision, Quota,
    memory::{Memory, bytes_per_key, remember},
};
use crate::{ConfigError, Timestamp, error::ConfigErrorKind, sync::unpoisoned};

/// A rate limit, together with the states of its keys.
///
/// Each quota of the limiter is a *tier*, addressed by its index; tier 0 is the usual tier. With
/// the token bucket, GCRA and the leaky queue, a key that moves to a different tier keeps what it
/// has used. With the fixed window, the sliding log and the sliding counter, each tier counts
/// separately.
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
    /// The current quotas, by tier. The mutex is held until a change has also reached the memory,
    /// so that concurrent changes are applied to this list and to the memory in the same order.
    /// Charging a key does not take the mutex.
    quotas: Arc<Mutex<Vec<Quota>>>,
    memory: Arc<dyn Memory>,
}

impl Limiter {
    /// The largest number of keys in use for which a limiter can be created.
    pub const MAX_KEYS: usize = 100_000_000;
    /// The maximum memory that a limiter may use, in bytes: 4 GiB.
    pub const MAX_BYTES: u64 = 4 << 30;
    /// The largest number of tiers.
    pub const MAX_TIERS: usize = 64;
    /// The number of places of a table that a [census](Self::census) visits.
    const COUNTED_PLACES: usize = 1 << 18;

    /// Creates a limiter with one quota for each tier, and room for `keys` keys in use at a time.
    ///
    /// A key is in use until everything that it has spent has been replenished. The [crate
    /// docs](crate#rate-limits) describe what happens when more than `keys` keys are in use.
    ///
    /// # Errors
    ///
    /// Returns an error if the algorithm does not support one of the quotas, or if a number is out
    /// of bounds. One of the bounds is [`MAX_BYTES`](Self::MAX_BYTES), which applies to the number
    /// of keys times the memory that each key can use.
    pub fn new(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Result<Self, ConfigError> {
        Self::validate(algorithm, quotas, keys)?;
        let memory = remember(algorithm, quotas, keys);
        Ok(Self { algorithm, keys, quotas: Arc::new(Mutex::new(quotas.to_vec())), memory })
    }

    /// Performs all checks of [`new`](Self::new) without creating a limiter.
    ///
    /// # Errors
    ///
    /// Returns an error if the algorithm does not support one of the quotas, or if a number is out
    /// of bounds.
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
            let given = format!("{keys} ({for_each} bytes per key, {bytes} bytes in total)");
            let expected = format!(
                "at most {} bytes; try fewer keys, a smaller limit, or the sliding counter",
                Self::MAX_BYTES,
            );
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "max_keys", given, expected));
        }
        Ok(())
    }

    /// The maximum memory, in bytes, that a limiter with these arguments can use. The maximum is
    /// reached when `keys` keys are in use, and each key has used up its quota in the way that
    /// requires the most memory.
    ///
    /// The token bucket, GCRA and the leaky queue allocate the maximum at once. The other
    /// algorithms allocate memory as keys arrive. A sliding log also allocates memory as requests
    /// arrive, because it stores each time at which units were spent. The result saturates at
    /// `u64::MAX`.
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

    /// The algorithm that determines whether a charge is allowed.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The current quotas, by tier.
    #[must_use]
    pub fn quotas(&self) -> Vec<Quota> {
        self.locked_quotas().clone()
    }

    /// The number of keys in use that the limiter has room for.
    #[must_use]
    pub const fn max_keys(&self) -> usize {
        self.keys
    }

    /// The number of keys that have a place in the table, whether or not they are in use.
    ///
    /// This method visits every place in the table. It is meant for metrics, and is too slow to be
    /// called for each request.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns whether no key has a place. Like [`len`](Self::len), this method visits every place.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of keys that have lost their places to other keys while they were in use.
    ///
    /// The number of displaced keys grows when more than [`max_keys`](Self::max_keys) keys are in
    /// use. A displaced key shares the state of its network, so even new keys of the network may be
    /// refused.
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.memory.displaced()
    }

    /// Counts the keys that the limiter tracks at `now`, and those that have at most a fifth of
    /// their limit left.
    ///
    /// The method visits up to about 262 144 places of each table, and estimates the numbers of a
    /// larger table from them. If there are several tiers, the token bucket, GCRA and the leaky
    /// queue compare every key with the limit of tier 0.
    #[must_use]
    pub fn census(&self, now: Timestamp) -> KeyCensus {
        self.memory.census(Self::COUNTED_PLACES, now)
    }

    /// Returns the decision that a charge of `cost` would get at `now`, without charging anything.
    #[must_use]
    pub fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        self.look_lazily(key, tier, cost, now).describe()
    }

    /// The same as [`look`](Self::look), but without computing the numbers of the decision.
    pub(super) fn look_lazily(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> LazyDecision {
        self.memory.look(key, tier, cost, now)
    }

    /// Spends `cost` on behalf of a key if the limit allows it.
    ///
    /// If `tier` is beyond the last tier, the last tier applies. A cost of zero is always allowed,
    /// and does not add the key to the table. A refused cost is not spent.
    ///
    /// With the token bucket, GCRA and the leaky queue, this method computes no numbers for the
    /// client. Callers that need the numbers of every decision may use [`charge`](Self::charge).
    #[inline]
    pub fn decide(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision {
        if cost == 0 {
            return self.ask(key, tier, now);
        }
        self.memory.charge(key, tier, cost, now)
    }

    /// The same as [`decide`](Self::decide), with the numbers of the decision.
    ///
    /// # Errors
    ///
    /// Returns the decision if the limit refuses the cost. A refused cost is not spent.
    pub fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        let decided = self.decide(key, tier, cost, now);
        let decision = decided.describe();
        decided.charge().map(|charge| (decision, charge)).ok_or(decision)
    }

    /// Corrects a charge to its actual cost, by refunding or spending the difference.
    ///
    /// A difference that exceeds the limit is spent anyway, as a debt that delays later requests
    /// for the key. `charge` is replaced by the receipt for `cost`, so a charge can be settled
    /// repeatedly. If the key has lost its place in the meantime, nothing can be refunded. In that
    /// case, a refund leaves the receipt unchanged.
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

    /// Clears the usage of a key in all tiers.
    ///
    /// The call has no effect on a key without a place, because such a key shares its state with
    /// other keys of its network.
    pub fn forgive(&self, key: KeyHash) {
        self.memory.forgive(key);
    }

    /// Changes the quotas, and returns a limiter with the new quotas.
    ///
    /// Keys keep what they have used, but no key waits longer than the new quotas alone could make
    /// it wait. Other clones of this limiter also apply the new quotas, but only for tiers that
    /// exist both before and after the change.
    ///
    /// # Errors
    ///
    /// Returns an error if the algorithm does not support one of the quotas, or if a number is out
    /// of bounds. In that case, the old quotas stay in effect.
    pub fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Result<Self, ConfigError> {
        Self::validate(self.algorithm, quotas, self.keys)?;
        let mut in_force = self.locked_quotas();
        if *in_force == quotas {
            return Ok(self.clone());
        }
        *in_force = quotas.to_vec();
        Ok(Self { memory: self.memory.with_quotas(quotas, now), ..self.clone() })
    }

    /// Decides on a cost of zero, which is always allowed.
    #[cold]
    fn ask(&self, key: KeyHash, tier: usize, now: Timestamp) -> LazyDecision {
        LazyDecision::known(self.look(key, tier, 0, now), Some(Charge::new(0, now, 0)))
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

/// A request to charge one limit, and its outcome.
#[derive(Clone, Debug)]
pub struct LimiterCharge<'a> {
    limiter: &'a Limiter,
    key: KeyHash,
    tier: usize,
    cost: u64,
    /// The limit's decision, or `None` until the limit has been consulted.
    decision: Option<LazyDecision>,
}

impl<'a> LimiterCharge<'a> {
    /// Creates a request to charge `cost` to a key, in a tier of this limit.
    #[must_use]
    pub const fn new(limiter: &'a Limiter, key: KeyHash, tier: usize, cost: u64) -> Self {
        Self { limiter, key, tier, cost, decision: None }
    }

    /// The key that is charged.
    #[must_use]
    pub const fn key(&self) -> KeyHash {
        self.key
    }

    /// The tier of the limit.
    #[must_use]
    pub const fn tier(&self) -> usize {
        self.tier
    }

    /// The amount that is charged.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The limit's decision, or `None` before a call to [`charge_all`].
    #[must_use]
    pub const fn decision(&self) -> Option<&LazyDecision> {
        self.decision.as_ref()
    }

    /// The receipt for what was spent, or `None` if any limit refused.
    #[must_use]
    pub const fn charge(&self) -> Option<Charge> {
        match &self.decision {
            Some(decision) => decision.charge(),
            None => None,
        }
    }

    /// Obtains the decision without spending anything, and returns whether the limit allows the
    /// cost.
    fn look(&mut self, now: Timestamp) -> bool {
        let decision = self.limiter.look_lazily(self.key, self.tier, self.cost, now);
        self.decision.insert(decision).is_allowed()
    }

    /// Spends the cost if the limit allows it, and returns whether the cost was spent.
    #[inline]
    fn spend(&mut self, now: Timestamp) -> bool {
        let decision = self.limiter.decide(self.key, self.tier, self.cost, now);
        self.decision.insert(decision).is_allowed()
    }

    /// Refunds the cost if it was spent. The refund changes the numbers in the decision, so the
    /// decision is replaced by one without a receipt.
    fn give_back(&mut self, now: Timestamp) {
        if let Some(mut charge) = self.charge() {
            self.limiter.settle(self.key, self.tier, &mut charge, 0, now);
            self.look(now);
        }
    }
}

/// Charges all limits, or none if any of them refuses, and returns whether they were charged.
///
/// All limits are checked before any limit is charged, so a request that one limit refuses spends
/// no units of the other limits, not even briefly. There is one exception: a concurrent request may
/// use up a limit between the check and the charge. By then, the limits earlier in the list have
/// already been charged, so their charges are refunded.
///
/// If a limit is a [log that counts refusals](super::Refusals::Count), it still records the
/// requests that it refuses.
///
/// `asks` consists of [`LimiterCharge`]s, or of structs that contain one.
#[inline]
pub fn charge_all<'a, A: BorrowMut<LimiterCharge<'a>>>(asks: &mut [A], now: Timestamp) -> bool {
    match asks {
        [only] => only.borrow_mut().spend(now),
        several => charge_several(several, now),
    }
}

/// Charges all of these limits, or none of them.
fn charge_several<'a, A: BorrowMut<LimiterCharge<'a>>>(asks: &mut [A], now: Timestamp) -> bool {
    let Some((last, others)) = asks.split_last_mut() else { return true };
    // All limits are checked, even after one limit has refused, because the decision of every limit
    // may be reported to the client.
    let each = others.iter_mut().map(BorrowMut::borrow_mut);
    let refused = each.map(|ask| ask.look(now)).filter(|allowed| !allowed).count();
    if refused > 0 {
        last.borrow_mut().look(now);
        record_refusals(asks, now);
        return false;
    }
    // The last limit is charged first, because charging it also checks it.
    if !last.borrow_mut().spend(now) {
        return false;
    }
    for index in 0..others.len() {
        if !others[index].borrow_mut().spend(now) {
            // The charges are refunded in reverse order, because a leaky queue refunds only its
            // last charge, and the same limit and key may occur more than once.
            let charged = others[..index].iter_mut().rev();
            charged.for_each(|ask| ask.borrow_mut().give_back(now));
            last.borrow_mut().give_back(now);
            return false;
        }
    }
    true
}

/// Records a refusal in each log that counts refusals and has refused. Looking at a limit records
/// nothing.
fn record_refusals<'a, A: BorrowMut<LimiterCharge<'a>>>(asks: &mut [A], now: Timestamp) {
    let each = asks.iter_mut().map(BorrowMut::borrow_mut);
    let refusals = each.filter(|ask| ask.limiter.counts_refusals());
    for ask in refusals.filter(|ask| ask.decision.is_some_and(|decision| !decision.is_allowed())) {
        // The refusal is recorded by an attempt to spend the cost. If a concurrent refund has made
        // room in the meantime, the attempt succeeds, and the cost has to be refunded.
        ask.spend(now);
        ask.give_back(now);
    }
}

#[cfg(test)]
mod tests;
