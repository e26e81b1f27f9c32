//! The states of many keys, together with the meters that read them.
//!
//! Quotas can change while decisions are being made. A replaced meter must not write a state in its
//! own units after the new meter has taken over that state. The current meters are therefore stored
//! next to the states, and a request that began with an old meter detects the change.
//!
//! | memory | algorithms | state | new quotas apply |
//! |---|---|---|---|
//! | [`AtomicMemory`] | token bucket, GCRA, leaky queue | one time, common to all tiers | at once |
//! | [`LockedMemory`] | windows, counters, logs | any, separate for each tier | when next locked |

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;

use super::{
    Algorithm, Charge, FixedWindow, Gcra, KeyCensus, KeyHash, LazyDecision, LeakyQueue, Meter,
    Quota, SlidingCounter, SlidingLog, TokenBucket,
    gcra::Bucket,
    gcra::BucketDecision,
    table::{AtomicTable, LockedTable},
};
use crate::Timestamp;

/// The memory of a limiter, independent of its algorithm.
///
/// The methods correspond to those of [`Limiter`](super::Limiter).
pub(super) trait Memory: Send + Sync {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision;
    /// Charges a cost above zero.
    fn charge(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision;
    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp);
    fn forgive(&self, key: KeyHash);
    /// Applies new quotas to all handles of this memory, and returns a handle with the new quotas.
    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory>;
    fn len(&self) -> usize;
    fn displaced(&self) -> u64;
    /// Counts the keys in up to about `most` places, and estimates the rest.
    fn census(&self, most: usize, now: Timestamp) -> KeyCensus;
}

/// Creates the memory for `keys` keys in use at a time. The quotas must be valid.
pub(super) fn remember(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Arc<dyn Memory> {
    match algorithm {
        Algorithm::FixedWindow(alignment) => {
            let make = move |quota: &Quota| FixedWindow::new(quota, alignment);
            Arc::new(LockedMemory::new(quotas, keys, make))
        }
        Algorithm::Gcra => Arc::new(AtomicMemory::new(quotas, keys, Gcra::new)),
        Algorithm::LeakyQueue => Arc::new(AtomicMemory::new(quotas, keys, LeakyQueue::new)),
        Algorithm::SlidingCounter => Arc::new(LockedMemory::new(quotas, keys, SlidingCounter::new)),
        Algorithm::SlidingLog(refusals) => {
            let make = move |quota: &Quota| SlidingLog::new(quota, refusals);
            Arc::new(LockedMemory::new(quotas, keys, make))
        }
        Algorithm::TokenBucket => Arc::new(AtomicMemory::new(quotas, keys, TokenBucket::new)),
    }
}

/// The maximum memory, in bytes, that one key of a limit with these quotas can use. The result
/// includes the key's share of the table's spare places.
pub(super) fn bytes_per_key(algorithm: Algorithm, quotas: &[Quota]) -> u64 {
    let of_tiers =
        |bytes: &dyn Fn(&Quota) -> u64| quotas.iter().map(bytes).fold(0, u64::saturating_add);
    match algorithm {
        Algorithm::FixedWindow(_) => of_tiers(&|_| LockedTable::<FixedWindow>::bytes_per_key(0)),
        // All tiers share one table.
        Algorithm::Gcra | Algorithm::LeakyQueue | Algorithm::TokenBucket => {
            AtomicTable::BYTES_PER_KEY
        }
        Algorithm::SlidingCounter => of_tiers(&|_| LockedTable::<SlidingCounter>::bytes_per_key(0)),
        Algorithm::SlidingLog(_) => {
            of_tiers(&|quota| LockedTable::<SlidingLog>::bytes_per_key(SlidingLog::bytes(quota)))
        }
    }
}

/// A function that creates the meter for a quota.
type Make<M> = Box<dyn Fn(&Quota) -> M + Send + Sync>;

/// Returns the item for a tier, or the item for the last tier if the index is beyond the last tier.
fn of_tier<T>(tiers: &[T], tier: usize) -> &T {
    tiers.get(tier).or(tiers.last()).expect("a limiter has at least one quota")
}

/// The memory for states that are single numbers. For every meter that uses this memory, the number
/// is a time, so all tiers can share it.
struct AtomicMemory<M> {
    /// The meters that this handle was created with, by tier. As long as `age` equals the number of
    /// changes, these are the current meters, so the common path reads no atomic pointer.
    meters: Vec<M>,
    /// The value of `changes` when this handle was created.
    age: u64,
    shared: Arc<SharedAtomicMemory<M>>,
}

/// The state shared by all handles of one table of words.
struct SharedAtomicMemory<M> {
    make: Make<M>,
    words: AtomicTable,
    in_force: ArcSwap<Vec<M>>,
    /// The number of times that the meters have been replaced.
    ///
    /// The counter is incremented after `in_force` is replaced and before the words are taken over.
    /// If a request reads the same value before and after its write to a word, the write precedes
    /// the visit of `with_quotas`, which converts the word. The request is then done.
    changes: AtomicU64,
}

impl<M: Bucket + 'static> AtomicMemory<M> {
    fn new(
        quotas: &[Quota],
        keys: usize,
        make: impl Fn(&Quota) -> M + Send + Sync + 'static,
    ) -> Self {
        let meters: Vec<M> = quotas.iter().map(&make).collect();
        let shared = SharedAtomicMemory {
            make: Box::new(make),
            words: AtomicTable::new(keys),
            in_force: ArcSwap::from_pointee(meters.clone()),
            changes: AtomicU64::new(0),
        };
        Self { meters, age: 0, shared: Arc::new(shared) }
    }

    /// Runs `act` with the meter for a tier, and ensures that the key's word ends up in the units
    /// of the current meters.
    ///
    /// If the meters were replaced in the meantime, `act` may have changed the word with an old
    /// meter after the new meter had taken it over. In that case, the word is converted once more.
    /// A second conversion of the same word changes nothing, except that any debt beyond the
    /// capacity is forgiven.
    fn by_meter<T>(
        &self,
        key: KeyHash,
        tier: usize,
        now: Timestamp,
        act: impl FnOnce(&M, &AtomicTable) -> T,
    ) -> T {
        let SharedAtomicMemory { words, in_force, changes, .. } = &*self.shared;
        // The two loads of `changes` enclose the write to the word, and `with_quotas` increments
        // `changes` before it visits the words. All SeqCst operations have a single total order, so
        // there are only two cases. In the first case, the write precedes the visit, and the visit
        // converts the word. In the second case, the increment precedes the second load, and the
        // load sees the increment.
        let before = changes.load(Ordering::SeqCst);
        let meter = if before == self.age {
            *of_tier(&self.meters, tier)
        } else {
            *of_tier(&in_force.load(), tier)
        };
        let given = act(&meter, words);
        if changes.load(Ordering::SeqCst) != before {
            self.convert(key, now);
        }
        given
    }

    /// Charges a key, wherever its place is, and whether or not the meters have been replaced.
    #[inline(never)]
    fn charge_elsewhere(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> LazyDecision {
        self.by_meter(key, tier, now, |meter, words| {
            let is_in_use = |word| meter.used(&word, now) > 0;
            let charged = words.update(key, is_in_use, |word| fill(meter, word, cost, now));
            decided(meter, charged, cost, now)
        })
    }

    /// Converts the word of a key to the units of the current meters. A key without a place has no
    /// word to convert, and gets no place.
    #[cold]
    fn convert(&self, key: KeyHash, now: Timestamp) {
        let SharedAtomicMemory { words, in_force, .. } = &*self.shared;
        let meters = in_force.load();
        words.update_known(key, |word| *word = taken_over(&meters, *word, now));
    }
}

/// Converts a word to the units of the current meters, whichever tier its key belongs to.
///
/// The tier of the word's key is unknown, so the latest of the resulting times is used, and no tier
/// is favored.
fn taken_over<M: Meter<State = u64>>(meters: &[M], word: u64, now: Timestamp) -> u64 {
    let words = meters.iter().map(|meter| {
        let mut word = word;
        meter.take_over(&mut word, meter, now);
        word
    });
    words.max().unwrap_or(word)
}

/// Spends a cost if it is allowed. Returns the new state and the delay in nanoseconds.
///
/// # Errors
///
/// Returns the state if the cost is refused.
#[inline(always)]
fn fill<M: Bucket>(
    meter: &M,
    empty_at: &mut u64,
    cost: u64,
    now: Timestamp,
) -> Result<(u64, u64), u64> {
    let before = *empty_at;
    *empty_at = meter.gcra().filled(before, cost, now).ok_or(before)?;
    // The delay follows from the state before the charge, because a request waits for the requests
    // ahead of it, not for itself.
    Ok((*empty_at, meter.delay_nanos(before, now)))
}

/// The decision that follows from the result of [`fill`].
#[inline(always)]
fn decided<M: Bucket>(
    meter: &M,
    filled: Result<(u64, u64), u64>,
    cost: u64,
    at: Timestamp,
) -> LazyDecision {
    let capacity = meter.limit();
    let interval = meter.gcra().interval();
    let (is_spent, empty_at, delay) = match filled {
        Ok((after, delay)) => (true, after, delay),
        Err(before) => (false, before, 0),
    };
    let bucket = BucketDecision { is_spent, capacity, interval, empty_at, cost, at, delay };
    LazyDecision::of_bucket(is_spent, bucket)
}

impl<M: Bucket + 'static> Memory for AtomicMemory<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision {
        self.by_meter(key, tier, now, |meter, words| {
            let gcra = *meter.gcra();
            let empty_at = words.get(key);
            let is_allowed = cost == 0 || gcra.filled(empty_at, cost, now).is_some();
            // A request without a cost is not held.
            let is_held = is_allowed && cost > 0;
            let delay = if is_held { meter.delay_nanos(empty_at, now) } else { 0 };
            let bucket = BucketDecision {
                is_spent: false,
                capacity: gcra.limit(),
                interval: gcra.interval(),
                empty_at,
                cost,
                at: now,
                delay,
            };
            LazyDecision::of_bucket(is_allowed, bucket)
        })
    }

    fn charge(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision {
        // These are the steps of `charge_elsewhere` for most requests. Rare cases are left to
        // another function, so that this function needs few registers and no memory of its own.
        let SharedAtomicMemory { words, changes, .. } = &*self.shared;
        let before = changes.load(Ordering::SeqCst);
        let (true, Some(meter)) = (before == self.age, self.meters.get(tier)) else {
            return self.charge_elsewhere(key, tier, cost, now);
        };
        let Some(charged) = words.update_first(key, |word| fill(meter, word, cost, now)) else {
            return self.charge_elsewhere(key, tier, cost, now);
        };
        if changes.load(Ordering::SeqCst) != before {
            self.convert(key, now);
        }
        decided(meter, charged, cost, now)
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        let settled = self.by_meter(key, tier, now, |meter, words| {
            let charge: &Charge = charge;
            let settle = |word: &mut u64| settle(meter, word, charge, cost, now);
            // A key that has lost its place receives no refund. The usage of such a key is part of
            // the number that its network shares, so a refund would also favor other keys.
            if cost < charge.cost {
                return words.update_known(key, settle);
            }
            let is_in_use = |word| meter.used(&word, now) > 0;
            let Ok(settled) =
                words.update(key, is_in_use, |word| Ok::<_, Infallible>(settle(word)));
            Some(settled)
        });
        if let Some(settled) = settled {
            *charge = settled;
        }
    }

    fn forgive(&self, key: KeyHash) {
        self.shared.words.update_known(key, |word| *word = 0);
    }

    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory> {
        let SharedAtomicMemory { make, words, in_force, changes } = &*self.shared;
        let meters: Vec<M> = quotas.iter().map(make).collect();
        // The order of these three steps matters (see `changes`). The first step replaces the
        // meters that later requests load, the second step increments the counter by which earlier
        // requests detect the change, and the third step converts the words.
        in_force.store(Arc::new(meters.clone()));
        let age = changes.fetch_add(1, Ordering::SeqCst) + 1;
        words.update_all(|word| taken_over(&meters, word, now));
        Arc::new(Self { meters, age, shared: Arc::clone(&self.shared) })
    }

    fn len(&self) -> usize {
        self.shared.words.len()
    }

    fn displaced(&self) -> u64 {
        self.shared.words.displaced()
    }

    fn census(&self, most: usize, now: Timestamp) -> KeyCensus {
        let SharedAtomicMemory { words, in_force, .. } = &*self.shared;
        let meters = in_force.load();
        // The tier of a key is unknown, so each key counts as a key of the usual tier.
        let meter = of_tier(&meters, 0);
        let mut census = KeyCensus::default();
        let (words, share) = words.sample(most);
        words.for_each(|word| census.count(meter, &word, now));
        census.scaled(share)
    }
}

/// The memory for states of any size. Each tier has a separate table, because the meaning of a
/// state depends on the length of the window.
struct LockedMemory<M: Meter> {
    make: Arc<Make<M>>,
    /// The number of keys in use that each table has room for, including the tables of tiers that
    /// are added later.
    keys: usize,
    /// The tables, by tier.
    tiers: Vec<Arc<LockedTable<M>>>,
}

impl<M: Meter + 'static> LockedMemory<M> {
    fn new(
        quotas: &[Quota],
        keys: usize,
        make: impl Fn(&Quota) -> M + Send + Sync + 'static,
    ) -> Self {
        let tiers =
            quotas.iter().map(|quota| Arc::new(LockedTable::new(make(quota), keys))).collect();
        Self { make: Arc::new(Box::new(make)), keys, tiers }
    }
}

impl<M: Meter + 'static> Memory for LockedMemory<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision {
        let look = |meter: &M, state: &M::State| meter.look(state, cost, now);
        of_tier(&self.tiers, tier).look(key, now, look).into()
    }

    fn charge(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> LazyDecision {
        let check = |meter: &M, state: &mut M::State| meter.check(state, cost, now);
        match of_tier(&self.tiers, tier).update(key, now, check) {
            Ok((decision, charge)) => LazyDecision::known(decision, Some(charge)),
            Err(decision) => decision.into(),
        }
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        let table = of_tier(&self.tiers, tier);
        let change = |meter: &M, state: &mut M::State| settle(meter, state, charge, cost, now);
        if cost < charge.cost {
            // As in `AtomicMemory`, a key that has lost its place receives no refund, because the
            // refund would be deducted from the usage of its network. One lock covers both finding
            // the key and changing its state.
            if let Some(settled) = table.update_known(key, change) {
                *charge = settled;
            }
        } else {
            *charge = table.update(key, now, change);
        }
    }

    fn forgive(&self, key: KeyHash) {
        self.tiers.iter().for_each(|table| table.forget(key));
    }

    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory> {
        let changed = quotas.iter().enumerate().map(|(tier, quota)| match self.tiers.get(tier) {
            Some(table) => {
                table.change_meter((self.make)(quota), now);
                Arc::clone(table)
            }
            None => Arc::new(LockedTable::new((self.make)(quota), self.keys)),
        });
        Arc::new(Self { tiers: changed.collect(), make: Arc::clone(&self.make), keys: self.keys })
    }

    fn len(&self) -> usize {
        self.tiers.iter().map(|table| table.len()).sum()
    }

    fn displaced(&self) -> u64 {
        self.tiers.iter().map(|table| table.displaced()).sum()
    }

    fn census(&self, most: usize, now: Timestamp) -> KeyCensus {
        let of_each = self.tiers.iter().map(|table| {
            let mut census = KeyCensus::default();
            let share = table.sample(most, |meter, state| census.count(meter, state, now));
            census.scaled(share)
        });
        of_each.fold(KeyCensus::default(), KeyCensus::and)
    }
}

/// Corrects a charge to `cost`, and returns the receipt that replaces `charge`.
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
    let spent = meter.spend(state, missing, now);
    match charge.cost {
        0 => spent,
        // The receipt keeps the mark of the first charge. If everything is refunded later, the
        // added part counts as spent at the time of the first charge, so the refund may be too
        // small but never too large.
        _ => Charge { cost, ..*charge },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rate::KeyHasher;

    #[test]
    fn a_word_that_was_written_while_the_quotas_changed_is_converted() {
        let now = Timestamp::from_secs(60_000);
        let key = KeyHasher::new([3, 1, 4, 1]).hash("ann");
        let memory = AtomicMemory::new(&[Quota::per_day(1)], 10, Gcra::new);
        let charged = memory.by_meter(key, 0, now, |meter, words| {
            memory.with_quotas(&[Quota::per_second(1)], now);
            words.update(key, |_| true, |word| fill(meter, word, 1, now))
        });
        assert!(charged.is_ok());
        assert!(!memory.look(key, 0, 1, now).is_allowed());
        assert!(memory.look(key, 0, 1, now + Duration::from_secs(1)).is_allowed());
    }
}
