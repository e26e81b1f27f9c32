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
    table::{Shelves, Words},
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
    fn change_quotas(&self, quotas: &[Quota], now: Timestamp);
    fn len(&self) -> usize;
}

/// Memory for valid quotas, of so many keys that are in use at a time.
pub(super) fn remember(algorithm: Algorithm, quotas: &[Quota], keys: usize) -> Arc<dyn Memory> {
    match algorithm {
        Algorithm::FixedWindow(alignment) => {
            let make = move |quota: &Quota| FixedWindow::new(quota, alignment);
            Arc::new(OnShelves::new(quotas, keys, make))
        }
        Algorithm::Gcra => Arc::new(InWords::new(quotas, keys, Gcra::new)),
        Algorithm::LeakyQueue => Arc::new(InWords::new(quotas, keys, LeakyQueue::new)),
        Algorithm::SlidingCounter => Arc::new(OnShelves::new(quotas, keys, SlidingCounter::new)),
        Algorithm::SlidingLog(refusals) => {
            let make = move |quota: &Quota| SlidingLog::new(quota, refusals);
            Arc::new(OnShelves::new(quotas, keys, make))
        }
        Algorithm::TokenBucket => Arc::new(InWords::new(quotas, keys, TokenBucket::new)),
    }
}

/// How a quota becomes a meter.
type Make<M> = Box<dyn Fn(&Quota) -> M + Send + Sync>;

/// Of a list of tiers the one that is meant; the last for one that there is not.
fn of_tier<T>(tiers: &[T], tier: usize) -> &T {
    tiers.get(tier).or(tiers.last()).expect("a limiter has a quota")
}

/// States of one number, for meters whose numbers mean a time, the same for all of them.
struct InWords<M> {
    make: Make<M>,
    /// By tier.
    meters: ArcSwap<Vec<M>>,
    /// How often the meters were replaced. Counted after it has happened, and before the states are
    /// taken over.
    changes: AtomicU64,
    words: Words,
}

impl<M: Meter<State = u64> + 'static> InWords<M> {
    fn new(
        quotas: &[Quota],
        keys: usize,
        make: impl Fn(&Quota) -> M + Send + Sync + 'static,
    ) -> Self {
        Self {
            meters: ArcSwap::from_pointee(quotas.iter().map(&make).collect()),
            make: Box::new(make),
            changes: AtomicU64::new(0),
            words: Words::new(keys),
        }
    }

    /// Changes the number of a key by the meter of its tier.
    ///
    /// If the meters were replaced meanwhile, the number may have been changed by an old one after
    /// a new one has taken it over; so it is taken over again.
    fn update<T, E>(
        &self,
        key: KeyHash,
        tier: usize,
        now: Timestamp,
        change: impl FnOnce(&M, &Words) -> Result<T, E>,
    ) -> Result<T, E> {
        let changes = self.changes.load(Ordering::SeqCst);
        let given = change(of_tier(&self.meters.load(), tier), &self.words)?;
        if self.changes.load(Ordering::SeqCst) != changes {
            let meters = self.meters.load();
            let Ok(()) = self.words.update(key, |word| {
                *word = taken_over(&meters, *word, now);
                Ok::<_, Infallible>(())
            });
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

impl<M: Meter<State = u64> + 'static> Memory for InWords<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        of_tier(&self.meters.load(), tier).look(&self.words.get(key), cost, now)
    }

    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        self.update(key, tier, now, |meter, words| {
            // As `Meter::check`, but nothing is described before the number is settled: a number
            // that another thread has changed is tried again.
            let mut last = 0;
            let taken = words.update(key, |word| {
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
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !self.words.knows(key) {
            return;
        }
        let Ok(settled) = self.update(key, tier, now, |meter, words| {
            words.update(key, |word| Ok::<_, Infallible>(settle(meter, word, charge, cost, now)))
        });
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

    fn change_quotas(&self, quotas: &[Quota], now: Timestamp) {
        let meters: Arc<Vec<M>> = Arc::new(quotas.iter().map(&self.make).collect());
        self.meters.store(Arc::clone(&meters));
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.words.update_all(|word| taken_over(&meters, word, now));
    }

    fn len(&self) -> usize {
        self.words.len()
    }
}

/// States of any size. Each tier has its own: in another window the same state means another
/// thing.
struct OnShelves<M: Meter> {
    make: Make<M>,
    keys: usize,
    /// By tier.
    tiers: ArcSwap<Vec<Arc<Shelves<M>>>>,
}

impl<M: Meter + 'static> OnShelves<M> {
    fn new(
        quotas: &[Quota],
        keys: usize,
        make: impl Fn(&Quota) -> M + Send + Sync + 'static,
    ) -> Self {
        let tiers = quotas.iter().map(|quota| Arc::new(Shelves::new(make(quota), keys)));
        let tiers = ArcSwap::from_pointee(tiers.collect());
        Self { make: Box::new(make), keys, tiers }
    }
}

impl<M: Meter + 'static> Memory for OnShelves<M> {
    fn look(&self, key: KeyHash, tier: usize, cost: u64, now: Timestamp) -> Decision {
        of_tier(&self.tiers.load(), tier)
            .look(key, now, |meter, state| meter.look(state, cost, now))
    }

    fn charge(
        &self,
        key: KeyHash,
        tier: usize,
        cost: u64,
        now: Timestamp,
    ) -> Result<(Decision, Charge), Decision> {
        of_tier(&self.tiers.load(), tier)
            .update(key, now, |meter, state| meter.check(state, cost, now))
    }

    fn settle(&self, key: KeyHash, tier: usize, charge: &mut Charge, cost: u64, now: Timestamp) {
        let tiers = self.tiers.load();
        let shelves = of_tier(&tiers, tier);
        // What was given up with a place is not given back to whoever has it now.
        if cost < charge.cost && !shelves.knows(key) {
            return;
        }
        *charge = shelves.update(key, now, |meter, state| settle(meter, state, charge, cost, now));
    }

    fn forgive(&self, key: KeyHash) {
        self.tiers.load().iter().for_each(|shelves| shelves.forget(key));
    }

    fn change_quotas(&self, quotas: &[Quota], _: Timestamp) {
        let tiers = self.tiers.load();
        let changed = quotas.iter().enumerate().map(|(tier, quota)| match tiers.get(tier) {
            Some(shelves) => {
                shelves.change_meter((self.make)(quota));
                Arc::clone(shelves)
            }
            None => Arc::new(Shelves::new((self.make)(quota), self.keys)),
        });
        self.tiers.store(Arc::new(changed.collect()));
    }

    fn len(&self) -> usize {
        self.tiers.load().iter().map(|shelves| shelves.len()).sum()
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
