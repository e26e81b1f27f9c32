//! A table that stores a state of any size for each key. Many small locks protect the states.
//!
//! ```text
//! key ─► shard (a mutex, up to 16 keys with their states) ─► change
//!          │ a new key, and the shard is full
//!          ▼
//!        the shared state of the network of the key that makes room (a mutex)
//! ```
//!
//! A request locks one shard, and then at most one shared state at a time. This order makes a
//! deadlock impossible. Requests for keys in different shards do not wait for each other, unless
//! they need the shared state of the same network.
//!
//! A new meter is not applied to all states at once. Instead, the states of each shard are
//! converted when the shard is next locked.

use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;

use super::networks;
use crate::{
    Timestamp,
    rate::{
        Meter,
        key::{KeyHash, first_group},
    },
    sync::unpoisoned,
};

/// A state for each of a bounded number of keys, and the meter that reads the states.
pub(in crate::rate) struct LockedTable<M: Meter> {
    in_force: ArcSwap<InForce<M>>,
    shards: Box<[Mutex<Shard<M>>]>,
    /// The joined states of the displaced keys, by network. A key that has no place may be one of
    /// its network's displaced keys, so it starts with the joined state of these keys. A lock in
    /// this list is taken after the lock of a shard, never before it.
    given_up: Box<[Mutex<Shared<M>>]>,
    /// The number of keys that have lost their places while they were in use.
    displaced: AtomicU64,
}

/// A meter, and the time at which it became the current meter.
struct InForce<M> {
    meter: M,
    since: Timestamp,
}

/// The joined state of the displaced keys of a network.
struct Shared<M: Meter> {
    /// The meter that the state belongs to.
    by: Arc<InForce<M>>,
    state: M::State,
}

/// Up to [`SHELF`] keys with their states.
struct Shard<M: Meter> {
    /// The meter that the states belong to.
    ///
    /// If a new meter has been set since the shard was last locked, the new meter takes over the
    /// states. The conversion applies as of the time at which the new meter was set, no matter how
    /// much later the shard is locked.
    by: Arc<InForce<M>>,
    states: Vec<(KeyHash, M::State)>,
}

impl<M: Meter> LockedTable<M> {
    /// Creates a table for `keys` keys in use at a time. The memory for states is allocated as keys
    /// arrive.
    pub(in crate::rate) fn new(meter: M, keys: usize) -> Self {
        let by = Arc::new(InForce { meter, since: Timestamp::ZERO });
        let shard = |_| Mutex::new(Shard { by: Arc::clone(&by), states: Vec::new() });
        let shards = keys.saturating_mul(PLACES_PER_KEY).div_ceil(SHELF).max(1);
        let shared = |_| Mutex::new(Shared { by: Arc::clone(&by), state: M::State::default() });
        Self {
            shards: (0..shards).map(shard).collect(),
            given_up: (0..networks(shards * SHELF)).map(shared).collect(),
            displaced: AtomicU64::default(),
            in_force: ArcSwap::new(by),
        }
    }

    /// The maximum memory, in bytes, that a key in use can require. The result includes two places,
    /// and a share of the shard and of the networks. `of_state` is the memory that a state
    /// allocates outside its place.
    pub(in crate::rate) const fn bytes_per_key(of_state: u64) -> u64 {
        let place = size_of::<(KeyHash, M::State)>() as u64 + of_state;
        let shard = (size_of::<Mutex<Shard<M>>>() + 2 * size_of::<Mutex<Shared<M>>>()) as u64;
        PLACES_PER_KEY as u64 * place + shard.div_ceil((SHELF / PLACES_PER_KEY) as u64)
    }

    /// Replaces the current meter. States are converted when their shard is next locked.
    pub(in crate::rate) fn change_meter(&self, meter: M, now: Timestamp) {
        self.in_force.store(Arc::new(InForce { meter, since: now }));
    }

    /// Reads the state of a key, or its starting state if the key has no place.
    pub(in crate::rate) fn look<T>(
        &self,
        key: KeyHash,
        now: Timestamp,
        look: impl FnOnce(&M, &M::State) -> T,
    ) -> T {
        let shard = &*self.shard(key);
        match shard.states.iter().find(|(holder, _)| *holder == key) {
            Some((_, state)) => look(&shard.by.meter, state),
            None => look(&shard.by.meter, &self.given_up(key, &shard.by, now).state),
        }
    }

    /// Removes a key, and frees its place.
    pub(in crate::rate) fn forget(&self, key: KeyHash) {
        self.lock(key).states.retain(|(holder, _)| *holder != key);
    }

    /// Changes the state of a key. A key without a place gets one only if the change has an effect.
    pub(in crate::rate) fn update<T>(
        &self,
        key: KeyHash,
        now: Timestamp,
        change: impl FnOnce(&M, &mut M::State) -> T,
    ) -> T {
        let shard = &mut *self.shard(key);
        let by = Arc::clone(&shard.by);
        let meter = &by.meter;
        if let Some((_, state)) = shard.states.iter_mut().find(|(holder, _)| *holder == key) {
            return change(meter, state);
        }
        let mut state = self.given_up(key, &by, now).state.clone();
        let extent = |state: &M::State| (meter.used(state, now), meter.replenished_at(state, now));
        let before = extent(&state);
        let given = change(meter, &mut state);
        // A new key that is refused at once needs no place. Before another key is displaced, all
        // places of replenished keys in the shard are freed, because a replenished key is
        // equivalent to a new key.
        if extent(&state) != before {
            shard.states.retain(|(_, state)| meter.used(state, now) > 0);
            self.place(shard, key, state, now);
        }
        given
    }

    /// Changes the state of a key that has a place, and returns the result of `change`, or `None`
    /// if the key has no place.
    pub(in crate::rate) fn update_known<T>(
        &self,
        key: KeyHash,
        change: impl FnOnce(&M, &mut M::State) -> T,
    ) -> Option<T> {
        let shard = &mut *self.shard(key);
        let (_, state) = shard.states.iter_mut().find(|(holder, _)| *holder == key)?;
        Some(change(&shard.by.meter, state))
    }

    /// The number of keys that have lost their places to other keys while they were in use.
    pub(in crate::rate) fn displaced(&self) -> u64 {
        // Relaxed suffices for a figure that is only reported.
        self.displaced.load(Ordering::Relaxed)
    }

    /// The number of keys that have a place. To count them, the method locks every shard, one after
    /// another.
    pub(in crate::rate) fn len(&self) -> usize {
        let len = |shard: &Mutex<Shard<M>>| unpoisoned(shard.lock()).states.len();
        self.shards.iter().map(len).sum()
    }

    /// Calls `see` for the keys in the first shards, up to about `most` places, and returns the
    /// fraction of all shards that is visited. Keys are spread over the shards by their hashes, so
    /// the keys in the first shards are a random sample.
    pub(in crate::rate) fn sample(&self, most: usize, mut see: impl FnMut(&M, &M::State)) -> f64 {
        let shards = most.div_ceil(SHELF).clamp(1, self.shards.len());
        for shard in &self.shards[..shards] {
            let shard = unpoisoned(shard.lock());
            shard.states.iter().for_each(|(_, state)| see(&shard.by.meter, state));
        }
        super::share_of(shards, self.shards.len())
    }

    /// Locks the shard of a key, and converts its states to the current meter.
    fn shard(&self, key: KeyHash) -> MutexGuard<'_, Shard<M>> {
        let mut guard = self.lock(key);
        let shard = &mut *guard;
        let by = self.in_force.load();
        if !Arc::ptr_eq(&shard.by, &by) {
            for (_, state) in &mut shard.states {
                by.meter.take_over(state, &shard.by.meter, by.since);
            }
            shard.by = Arc::clone(&by);
        }
        guard
    }

    /// Gives a key a place in its shard: a free place, or the place of the key that makes room.
    fn place(&self, shard: &mut Shard<M>, key: KeyHash, state: M::State, now: Timestamp) {
        match shard.least(now).filter(|_| shard.states.len() >= SHELF) {
            Some(least) => {
                let (holder, used) = mem::replace(&mut shard.states[least], (key, state));
                let mut shared = self.given_up(holder, &shard.by, now);
                shard.by.meter.join(&mut shared.state, &used, now);
                self.displaced.fetch_add(1, Ordering::Relaxed);
            }
            None => shard.states.push((key, state)),
        }
    }

    /// Locks the joined state of the displaced keys in this key's network, and converts it to the
    /// `by` meter.
    fn given_up(
        &self,
        key: KeyHash,
        by: &Arc<InForce<M>>,
        now: Timestamp,
    ) -> MutexGuard<'_, Shared<M>> {
        let index = usize::from(key.network()) % self.given_up.len();
        let mut guard = unpoisoned(self.given_up[index].lock());
        let shared = &mut *guard;
        // Two shards may have last seen different meters, so the conversion may also go back to the
        // older meter. In both cases, the conversion never uses a time before the state's own meter
        // was set.
        if !Arc::ptr_eq(&shared.by, by) {
            let since = by.since.max(shared.by.since);
            by.meter.take_over(&mut shared.state, &shared.by.meter, since);
            shared.by = Arc::clone(by);
        }
        if by.meter.used(&shared.state, now) == 0 {
            shared.state = M::State::default();
        }
        guard
    }

    /// Locks the shard of a key, without converting its states.
    fn lock(&self, key: KeyHash) -> MutexGuard<'_, Shard<M>> {
        unpoisoned(self.shards[first_group(key, self.shards.len())].lock())
    }
}

impl<M: Meter> Shard<M> {
    /// The index of the key that makes room for a new key.
    ///
    /// A key with remaining quota is chosen before an exhausted key. Within each of these two sets,
    /// the key that will be replenished first is chosen. An exhausted key, which may belong to an
    /// offender, is therefore displaced last.
    fn least(&self, now: Timestamp) -> Option<usize> {
        let rank = |(_, state): &(KeyHash, M::State)| {
            let meter = &self.by.meter;
            (meter.remaining(state, now) == 0, meter.replenished_at(state, now))
        };
        (0..self.states.len()).min_by_key(|&index| rank(&self.states[index]))
    }
}

impl<M: Meter> fmt::Debug for LockedTable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedTable").field("places", &(self.shards.len() * SHELF)).finish()
    }
}

/// The number of places in a shard.
const SHELF: usize = 16;
/// The number of places per key in use. There are more places than keys because keys are spread
/// unevenly over the shards.
const PLACES_PER_KEY: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Quota,
        rate::{Alignment, FixedWindow, KeyHasher},
    };

    const NOW: Timestamp = Timestamp::from_secs(60_000);

    fn shards(keys: usize) -> LockedTable<FixedWindow> {
        LockedTable::new(FixedWindow::new(&Quota::per_minute(100), Alignment::FirstHit), keys)
    }

    /// Spends `cost`, and returns the amount left afterwards.
    fn spend(shards: &LockedTable<FixedWindow>, key: KeyHash, cost: u64, now: Timestamp) -> u64 {
        shards.update(key, now, |meter, state| {
            meter.spend(state, cost, now);
            meter.remaining(state, now)
        })
    }

    fn left(shards: &LockedTable<FixedWindow>, key: KeyHash, now: Timestamp) -> u64 {
        shards.look(key, now, |meter, state| meter.remaining(state, now))
    }

    fn after(secs: u64) -> Timestamp {
        NOW + std::time::Duration::from_secs(secs)
    }

    #[test]
    fn every_key_up_to_the_capacity_has_a_state_of_its_own() {
        let shards = shards(10_000);
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        let keys: Vec<_> = (0..10_000).map(|key: u64| hasher.hash(&key)).collect();
        keys.iter().for_each(|&key| _ = spend(&shards, key, 7, NOW));
        let shared = keys.iter().filter(|&&key| left(&shards, key, NOW) != 93).count();
        assert!(shared < 100, "{shared} of 10000 share a place or have none");
    }

    #[test]
    fn the_key_that_replenishes_first_is_displaced_into_its_network() {
        let shards = shards(8);
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        let of = |key: u64, network: &str| hasher.hash(&key).of_network(hasher.hash(network));
        (0..16).for_each(|key| _ = spend(&shards, of(key, "one"), 10 + key, after(key)));
        assert_eq!(shards.displaced(), 0);
        let newcomer = of(16, "other");
        let neighbour = of(17, "one");
        assert_eq!(left(&shards, newcomer, after(16)), 100);
        assert_eq!(spend(&shards, newcomer, 1, after(16)), 99);
        let knows = |key| shards.update_known(of(key, "one"), |_, _| ()).is_some();
        assert!(!knows(0));
        assert!((1..16).all(knows));
        assert_eq!((shards.len(), shards.displaced()), (SHELF, 1));
        // The displaced key, and a neighbour that cannot be distinguished from it.
        assert_eq!([of(0, "one"), neighbour].map(|key| left(&shards, key, after(16))), [90, 90]);
        // The shared state lapses at the same time as the use of the displaced key.
        assert_eq!(left(&shards, neighbour, after(60)), 100);
    }

    #[test]
    fn an_exhausted_key_is_displaced_last() {
        let shards = shards(8);
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        let offender = hasher.hash("offender");
        spend(&shards, offender, 100, NOW);
        (0..15_u64).for_each(|key| _ = spend(&shards, hasher.hash(&key), 1, after(10)));
        (0..99_u64).for_each(|key| _ = spend(&shards, hasher.hash(&(100 + key)), 1, after(20)));
        assert_eq!(left(&shards, offender, after(20)), 0);
    }

    #[test]
    fn an_unused_key_gets_and_keeps_no_place() {
        let shards = shards(8);
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        spend(&shards, hasher.hash("ann"), 0, NOW);
        assert_eq!(shards.len(), 0);
        spend(&shards, hasher.hash("bob"), 1, NOW);
        spend(&shards, hasher.hash("cyd"), 1, after(60));
        assert_eq!(shards.len(), 1);
    }

    #[test]
    fn another_meter_takes_the_states_over() {
        let shards = shards(8);
        let ann = KeyHasher::new([3, 1, 4, 1]).hash("ann");
        spend(&shards, ann, 60, NOW);
        let other = FixedWindow::new(&Quota::per_minute(70), Alignment::FirstHit);
        shards.change_meter(other, NOW);
        assert_eq!(left(&shards, ann, NOW), 10);
    }
}
