//! A table of a state of any size for each key, behind many small locks.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use arc_swap::ArcSwap;

use crate::{
    Timestamp,
    rate::{
        Meter,
        key::{KeyHash, first_group},
    },
    sync::unpoisoned,
};

/// A state for each of so many keys, on shelves of a few, and the meter that reads them.
pub(in crate::rate) struct Shelves<M: Meter> {
    in_force: ArcSwap<InForce<M>>,
    shelves: Box<[Mutex<Shelf<M>>]>,
}

/// A meter, and since when it is in force.
struct InForce<M> {
    meter: M,
    since: Timestamp,
}

/// Some keys with their states.
struct Shelf<M: Meter> {
    /// What the states are by. Another meter takes them over when it first comes by, as they were
    /// when it was put in force.
    by: Arc<InForce<M>>,
    states: Vec<(KeyHash, M::State)>,
}

impl<M: Meter> Shelves<M> {
    /// A table for `keys` keys that are in use at a time. Memory is taken as keys come.
    pub(in crate::rate) fn new(meter: M, keys: usize) -> Self {
        let by = Arc::new(InForce { meter, since: Timestamp::ZERO });
        let shelf = |_| Mutex::new(Shelf { by: Arc::clone(&by), states: Vec::new() });
        let shelves = keys.saturating_mul(PLACES_PER_KEY).div_ceil(SHELF).max(1);
        Self { shelves: (0..shelves).map(shelf).collect(), in_force: ArcSwap::new(by) }
    }

    /// The most memory that a key in use can take, in bytes, if a state has so many bytes besides
    /// itself: that of two places, and of its share of the shelf.
    pub(in crate::rate) const fn bytes_per_key(of_state: u64) -> u64 {
        let place = size_of::<(KeyHash, M::State)>() as u64 + of_state;
        let shelf = size_of::<Mutex<Shelf<M>>>() as u64;
        PLACES_PER_KEY as u64 * place + shelf.div_ceil((SHELF / PLACES_PER_KEY) as u64)
    }

    /// Puts another meter in force.
    pub(in crate::rate) fn change_meter(&self, meter: M, now: Timestamp) {
        self.in_force.store(Arc::new(InForce { meter, since: now }));
    }

    /// Looks at the state of a key; of one that is not known, at what it would begin with.
    pub(in crate::rate) fn look<T>(
        &self,
        key: KeyHash,
        now: Timestamp,
        look: impl FnOnce(&M, &M::State) -> T,
    ) -> T {
        let shelf = &*self.shelf(key);
        let known = shelf.states.iter().find(|(holder, _)| *holder == key);
        let is_full = shelf.used(now) >= SHELF;
        match known.or_else(|| shelf.states.get(shelf.least(now)?).filter(|_| is_full)) {
            Some((_, state)) => look(&shelf.by.meter, state),
            None => look(&shelf.by.meter, &M::State::default()),
        }
    }

    /// Whether a key has a place.
    pub(in crate::rate) fn knows(&self, key: KeyHash) -> bool {
        self.lock(key).states.iter().any(|(holder, _)| *holder == key)
    }

    /// Forgets a key.
    pub(in crate::rate) fn forget(&self, key: KeyHash) {
        self.lock(key).states.retain(|(holder, _)| *holder != key);
    }

    /// Changes the state of a key. One that is not known and has used nothing then gets no place.
    pub(in crate::rate) fn update<T>(
        &self,
        key: KeyHash,
        now: Timestamp,
        change: impl FnOnce(&M, &mut M::State) -> T,
    ) -> T {
        let shelf = &mut *self.shelf(key);
        let by = Arc::clone(&shelf.by);
        let meter = &by.meter;
        if let Some((_, state)) = shelf.states.iter_mut().find(|(holder, _)| *holder == key) {
            return change(meter, state);
        }
        // Who is replenished needs no place: to be new is the same.
        shelf.states.retain(|(_, state)| meter.used(state, now) > 0);
        if let Some(least) = shelf.least(now).filter(|_| shelf.states.len() >= SHELF) {
            let (holder, state) = &mut shelf.states[least];
            *holder = key;
            return change(meter, state);
        }
        let mut state = M::State::default();
        let given = change(meter, &mut state);
        if meter.used(&state, now) > 0 {
            shelf.states.push((key, state));
        }
        given
    }

    /// How many keys have a place.
    pub(in crate::rate) fn len(&self) -> usize {
        let len = |shelf: &Mutex<Shelf<M>>| unpoisoned(shelf.lock()).states.len();
        self.shelves.iter().map(len).sum()
    }

    /// The shelf of a key, with its states as the meter in force reads them.
    fn shelf(&self, key: KeyHash) -> MutexGuard<'_, Shelf<M>> {
        let mut guard = self.lock(key);
        let (shelf, by) = (&mut *guard, self.in_force.load());
        if !Arc::ptr_eq(&shelf.by, &by) {
            for (_, state) in &mut shelf.states {
                by.meter.take_over(state, &shelf.by.meter, by.since);
            }
            shelf.by = Arc::clone(&by);
        }
        guard
    }

    fn lock(&self, key: KeyHash) -> MutexGuard<'_, Shelf<M>> {
        unpoisoned(self.shelves[first_group(key, self.shelves.len())].lock())
    }
}

impl<M: Meter> Shelf<M> {
    /// How many keys have used something.
    fn used(&self, now: Timestamp) -> usize {
        self.states.iter().filter(|(_, state)| self.by.meter.used(state, now) > 0).count()
    }

    /// The key that makes room: one that has something left before one that has not, and then the
    /// one that is replenished first.
    fn least(&self, now: Timestamp) -> Option<usize> {
        let rank = |(_, state): &(KeyHash, M::State)| {
            let meter = &self.by.meter;
            (meter.remaining(state, now) == 0, meter.replenished_at(state, now))
        };
        (0..self.states.len()).min_by_key(|&index| rank(&self.states[index]))
    }
}

impl<M: Meter> fmt::Debug for Shelves<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelves").field("places", &(self.shelves.len() * SHELF)).finish()
    }
}

/// The places of a shelf.
const SHELF: usize = 16;
/// How many places there are for each key that is in use at a time, since keys are spread unevenly.
const PLACES_PER_KEY: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alignment, FixedWindow, KeyHasher, Quota};

    const NOW: Timestamp = Timestamp::from_secs(60_000);

    fn shelves(keys: usize) -> Shelves<FixedWindow> {
        Shelves::new(FixedWindow::new(&Quota::per_minute(100), Alignment::FirstHit), keys)
    }

    /// Spends, and says how much is left then.
    fn spend(shelves: &Shelves<FixedWindow>, key: KeyHash, cost: u64, now: Timestamp) -> u64 {
        shelves.update(key, now, |meter, state| {
            meter.spend(state, cost, now);
            meter.remaining(state, now)
        })
    }

    fn left(shelves: &Shelves<FixedWindow>, key: KeyHash, now: Timestamp) -> u64 {
        shelves.look(key, now, |meter, state| meter.remaining(state, now))
    }

    fn after(secs: u64) -> Timestamp {
        NOW + std::time::Duration::from_secs(secs)
    }

    #[test]
    fn as_many_keys_as_it_was_made_for_are_kept_apart() {
        let (shelves, hasher) = (shelves(10_000), KeyHasher::new([3, 1, 4, 1]));
        let keys: Vec<_> = (0..10_000).map(|key: u64| hasher.hash(&key)).collect();
        keys.iter().for_each(|&key| _ = spend(&shelves, key, 7, NOW));
        let shared = keys.iter().filter(|&&key| left(&shelves, key, NOW) != 93).count();
        assert!(shared < 100, "{shared} of 10000 share a place or have none");
    }

    #[test]
    fn the_key_that_is_replenished_first_makes_room_and_leaves_what_it_had_used() {
        let (shelves, hasher) = (shelves(8), KeyHasher::new([3, 1, 4, 1]));
        (0..16_u64).for_each(|key| _ = spend(&shelves, hasher.hash(&key), 10 + key, after(key)));
        let newcomer = hasher.hash(&16_u64);
        assert_eq!(left(&shelves, newcomer, after(16)), 90);
        assert_eq!(spend(&shelves, newcomer, 1, after(16)), 89);
        assert!(!shelves.knows(hasher.hash(&0_u64)));
        assert!((1..=16_u64).all(|key| shelves.knows(hasher.hash(&key))));
        assert_eq!(shelves.len(), SHELF);
    }

    #[test]
    fn who_has_nothing_left_makes_room_last() {
        let (shelves, hasher) = (shelves(8), KeyHasher::new([3, 1, 4, 1]));
        let offender = hasher.hash("offender");
        spend(&shelves, offender, 100, NOW);
        (0..15_u64).for_each(|key| _ = spend(&shelves, hasher.hash(&key), 1, after(10)));
        (0..99_u64).for_each(|key| _ = spend(&shelves, hasher.hash(&(100 + key)), 1, after(20)));
        assert_eq!(left(&shelves, offender, after(20)), 0);
    }

    #[test]
    fn who_has_used_nothing_gets_no_place_and_keeps_none() {
        let (shelves, hasher) = (shelves(8), KeyHasher::new([3, 1, 4, 1]));
        spend(&shelves, hasher.hash("ann"), 0, NOW);
        assert_eq!(shelves.len(), 0);
        spend(&shelves, hasher.hash("bob"), 1, NOW);
        spend(&shelves, hasher.hash("cyd"), 1, after(60));
        assert_eq!(shelves.len(), 1);
    }

    #[test]
    fn another_meter_takes_the_states_over() {
        let (shelves, ann) = (shelves(8), KeyHasher::new([3, 1, 4, 1]).hash("ann"));
        spend(&shelves, ann, 60, NOW);
        let other = FixedWindow::new(&Quota::per_minute(70), Alignment::FirstHit);
        shelves.change_meter(other, NOW);
        assert_eq!(left(&shelves, ann, NOW), 10);
    }
}
