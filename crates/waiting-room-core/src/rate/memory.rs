//! The states of many keys, and the meters that read them.
//!
//! A meter that is replaced must not write in its own units into states that another has taken
//! over. So the meters in force stand here, beside the states, and a request that began under the
//! old ones finds out.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;

use super::{
    Algorithm, Charge, Decision, FixedWindow, Gcra, KeyHash, LeakyQueue, Meter, Quota,
    SlidingCounter, SlidingLog, TokenBucket,
    table::{AtomicTable, LockedTable},
};
use crate::Timestamp;

/// What a limiter remembers, whatever its algorithm.
pub(super) trait Memory: Send + Sync {
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
    /// The same memory by other quotas, which are in force for all that go by it from then on.
    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory>;
    fn len(&self) -> usize;
    fn displaced(&self) -> u64;
}

/// Memory for valid quotas, of so many keys that are in use at a time.
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

/// The most memory that one key of such a limit can take, in bytes, with its share of the places
/// that a table has to spare.
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

/// How a quota becomes a meter.
type Make<M> = Box<dyn Fn(&Quota) -> M + Send + Sync>;

/// Of a list of tiers the one that is meant; the last for one that there is not.
fn of_tier<T>(tiers: &[T], tier: usize) -> &T {
    tiers.get(tier).or(tiers.last()).expect("a limiter has a quota")
}

/// States of one number, for meters whose numbers mean a time, the same for all of them.
struct AtomicMemory<M> {
    /// By tier; in force unless others are by now.
    meters: Vec<M>,
    /// How often the meters had been replaced when these came.
    age: u64,
    shared: Arc<SharedAtomicMemory<M>>,
}

/// What all that goes by the same words has in common.
struct SharedAtomicMemory<M> {
    make: Make<M>,
    words: AtomicTable,
    in_force: ArcSwap<Vec<M>>,
    /// How often the meters were replaced. Counted after it has happened, and before the words are
    /// taken over.
    changes: AtomicU64,
}

impl<M: Meter<State = u64> + 'static> AtomicMemory<M> {
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

    /// Does something to the word of a key by the meter of its tier.
    ///
    /// If the meters were replaced meanwhile, the word may have been changed by an old one after
    /// a new one has taken it over; so it is taken over again.
    fn by_meter<T, E>(
        &self,
        key: KeyHash,
        tier: usize,
        now: Timestamp,
        act: impl FnOnce(&M, &AtomicTable) -> Result<T, E>,
    ) -> Result<T, E> {
        let SharedAtomicMemory { words, in_force, changes, .. } = &*self.shared;
        let before = changes.load(Ordering::SeqCst);
        let given = if before == self.age {
            act(of_tier(&self.meters, tier), words)?
        } else {
            act(of_tier(&in_force.load(), tier), words)?
        };
        if changes.load(Ordering::SeqCst) != before {
            let meters = in_force.load();
            let Ok(()) = words.update(
                key,
                |_| false,
                |word| {
                    *word = taken_over(&meters, *word, now);
                    Ok::<_, Infallible>(())
                },
            );
        }
        Ok(given)
    }
}

/// A number as the meters take it over. Of whom it is nobody knows, so no tier is favoured.
fn taken_over<M: Meter<State = u64>>(meters: &[M], word: u64, now: Timestamp) -> u64 {
    let words = meters.iter().map(|meter| {
        let mut word = word;
        meter.take_over(&mut word, meter, now);
        word
    });
    words.max().unwrap_or(word)
}

impl<M: Meter<State = u64> + 'static> Memory for AtomicMemory<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        let Ok(decision) = self.by_meter(key, tier, now, |meter, words| {
            Ok::<_, Infallible>(meter.look(&words.get(key), cost, now))
        });
        decision
    }

    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        self.by_meter(key, tier, now, |meter, words| {
            // As `Meter::check`, but nothing is described before the number is settled: a number
            // that another thread has changed is tried again.
            let mut last = 0;
            let is_in_use = |word| meter.used(&word, now) > 0;
            let taken = words.update(key, is_in_use, |word| {
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
        })
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        let Ok(settled) = self.by_meter(key, tier, now, |meter, words| {
            let settle = |word: &mut u64| settle(meter, word, charge, cost, now);
            // A key that has lost its place gets nothing back: the place is another's now.
            if cost < charge.cost {
                return Ok::<_, Infallible>(words.update_known(key, settle));
            }
            let is_in_use = |word| meter.used(&word, now) > 0;
            let Ok(settled) =
                words.update(key, is_in_use, |word| Ok::<_, Infallible>(settle(word)));
            Ok(Some(settled))
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
}

/// States of any size. Each tier has its own: in another window the same state means another
/// thing.
struct LockedMemory<M: Meter> {
    make: Arc<Make<M>>,
    keys: usize,
    /// By tier.
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
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        of_tier(&self.tiers, tier).look(key, now, |meter, state| meter.look(state, cost, now))
    }

    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        of_tier(&self.tiers, tier).update(key, now, |meter, state| meter.check(state, cost, now))
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        let shelves = of_tier(&self.tiers, tier);
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !shelves.knows(key) {
            return;
        }
        *charge = shelves.update(key, now, |meter, state| settle(meter, state, charge, cost, now));
    }

    fn forgive(&self, key: KeyHash) {
        self.tiers.iter().for_each(|shelves| shelves.forget(key));
    }

    fn with_quotas(&self, quotas: &[Quota], now: Timestamp) -> Arc<dyn Memory> {
        let changed = quotas.iter().enumerate().map(|(tier, quota)| match self.tiers.get(tier) {
            Some(shelves) => {
                shelves.change_meter((self.make)(quota), now);
                Arc::clone(shelves)
            }
            None => Arc::new(LockedTable::new((self.make)(quota), self.keys)),
        });
        Arc::new(Self { tiers: changed.collect(), make: Arc::clone(&self.make), keys: self.keys })
    }

    fn len(&self) -> usize {
        self.tiers.iter().map(|shelves| shelves.len()).sum()
    }

    fn displaced(&self) -> u64 {
        self.tiers.iter().map(|shelves| shelves.displaced()).sum()
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
    let spent = meter.spend(state, missing, now);
    match charge.cost {
        0 => spent,
        // What was spent later is given back as if it had been spent with the first: at most less.
        _ => Charge { cost, ..*charge },
    }
}
