//! A table of a state of any size for each key, behind many small locks.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{super::KeyHash, first_group};

/// A state for each of so many keys, on shelves of a few.
pub(in crate::rate) struct Shelves<S>(Box<[Shelf<S>]>);

type Shelf<S> = Mutex<Vec<(KeyHash, S)>>;

impl<S: Default> Shelves<S> {
    /// A table for `keys` keys that are in use at a time. Memory is taken as keys come.
    pub(in crate::rate) fn new(keys: usize) -> Self {
        let shelves = keys.saturating_mul(2).div_ceil(SHELF).max(1);
        Self((0..shelves).map(|_| Mutex::default()).collect())
    }

    /// Looks at the state of a key; at a new one if it is not known.
    pub(in crate::rate) fn look<T>(&self, key: KeyHash, look: impl FnOnce(&S) -> T) -> T {
        let shelf = self.shelf(key);
        match shelf.iter().find(|(holder, _)| *holder == key) {
            Some((_, state)) => look(state),
            None => look(&S::default()),
        }
    }

    /// Whether a key has a place.
    pub(in crate::rate) fn knows(&self, key: KeyHash) -> bool {
        self.shelf(key).iter().any(|(holder, _)| *holder == key)
    }

    /// Changes the state of a key. One that is not known and is not changed to have `used`
    /// anything gets no place.
    pub(in crate::rate) fn update<T>(
        &self,
        key: KeyHash,
        change: impl Fn(&mut S) -> T,
        used: impl Fn(&S) -> u64,
    ) -> T {
        let mut shelf = self.shelf(key);
        if let Some((_, state)) = shelf.iter_mut().find(|(holder, _)| *holder == key) {
            return change(state);
        }
        // Who is replenished needs no place: to be new is the same.
        shelf.retain(|(_, state)| used(state) > 0);
        if shelf.len() < SHELF {
            let mut state = S::default();
            let given = change(&mut state);
            if used(&state) > 0 {
                shelf.push((key, state));
            }
            return given;
        }
        let least = shelf.iter_mut().min_by_key(|(_, state)| used(state));
        let (holder, state) = least.expect("a full shelf has places");
        *holder = key;
        change(state)
    }

    /// Changes the states of all keys.
    pub(in crate::rate) fn update_all(&self, change: impl Fn(&mut S)) {
        for shelf in &self.0 {
            let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            shelf.iter_mut().for_each(|(_, state)| change(state));
        }
    }

    /// How many keys have a place.
    pub(in crate::rate) fn len(&self) -> usize {
        let len = |shelf: &Shelf<S>| shelf.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.0.iter().map(len).sum()
    }

    fn shelf(&self, key: KeyHash) -> MutexGuard<'_, Vec<(KeyHash, S)>> {
        let shelf = &self.0[first_group(key, self.0.len())];
        shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> fmt::Debug for Shelves<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelves").field("places", &(self.0.len() * SHELF)).finish()
    }
}

/// The places of a shelf.
const SHELF: usize = 16;

#[cfg(test)]
mod tests {
    use super::{super::super::KeyHasher, *};

    /// A state that is its own measure.
    fn add(shelves: &Shelves<u64>, key: KeyHash, more: u64) -> u64 {
        let change = |state: &mut u64| {
            *state += more;
            *state
        };
        shelves.update(key, change, |state| *state)
    }

    #[test]
    fn as_many_keys_as_it_was_made_for_are_kept_apart() {
        let (shelves, hasher) = (Shelves::new(10_000), KeyHasher::new([3, 1, 4, 1]));
        let keys: Vec<_> = (0..10_000).map(|key: u64| hasher.hash(&key)).collect();
        keys.iter().for_each(|&key| _ = add(&shelves, key, 7));
        let shared = keys.iter().filter(|&&key| shelves.look(key, |state| *state) != 7).count();
        assert!(shared < 100, "{shared} of 10000 share a place or have none");
    }

    #[test]
    fn the_least_used_key_makes_room_and_leaves_what_it_had_used() {
        let (shelves, hasher) = (Shelves::new(8), KeyHasher::new([3, 1, 4, 1]));
        (1..=16_u64).for_each(|key| _ = add(&shelves, hasher.hash(&key), key));
        assert_eq!(add(&shelves, hasher.hash(&17_u64), 1), 2);
        assert!(!shelves.knows(hasher.hash(&1_u64)));
        assert!((2..=17_u64).all(|key| shelves.knows(hasher.hash(&key))));
        assert_eq!(shelves.len(), SHELF);
    }

    #[test]
    fn who_has_used_nothing_gets_no_place_and_keeps_none() {
        let (shelves, hasher) = (Shelves::new(8), KeyHasher::new([3, 1, 4, 1]));
        add(&shelves, hasher.hash("ann"), 0);
        assert_eq!(shelves.len(), 0);
        add(&shelves, hasher.hash("bob"), 1);
        shelves.update_all(|state| *state = 0);
        add(&shelves, hasher.hash("cyd"), 1);
        assert_eq!(shelves.len(), 1);
    }
}
