//! A table of one number for each key, without locks on the way of a known key.
//!
//! The numbers of all algorithms that are kept here grow with what was used, so the least number
//! is the least used key.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
};

use super::networks;
use crate::{
    rate::key::{KeyHash, first_group, second_group},
    sync::unpoisoned,
};

/// One number for each of so many keys.
pub(in crate::rate) struct AtomicTable {
    groups: Box<[Group]>,
    /// By network, the greatest number of a key that lost its place. A key of the network that has
    /// no place may be that one, and starts with it.
    given_up: Box<[AtomicU64]>,
    /// How many keys lost their places that were in use.
    displaced: AtomicU64,
    /// Held while a key gets a place in a group, so that it does not get two.
    placing: Box<[Mutex<()>]>,
}

/// Two cache lines, of which the first is filled first.
#[derive(Default)]
#[repr(align(64))]
struct Group {
    places: [Place; GROUP],
    /// Of the key of each place.
    networks: [AtomicU16; GROUP],
}

/// A key and its number. A place that was given to a key always belongs to one.
#[derive(Default)]
struct Place {
    key: AtomicU64,
    word: AtomicU64,
}

impl AtomicTable {
    /// The memory for one key that is in use, with its share of the places to spare, rounded up.
    pub(in crate::rate) const BYTES_PER_KEY: u64 =
        (size_of::<Group>() * 15).div_ceil(8 * GROUP) as u64 + 2;

    /// A table for `keys` keys that are in use at a time; 37 bytes for each.
    pub(in crate::rate) fn new(keys: usize) -> Self {
        let groups = keys.saturating_mul(15).div_ceil(8 * GROUP).max(1);
        Self {
            groups: (0..groups).map(|_| Group::default()).collect(),
            given_up: (0..networks(groups * GROUP)).map(|_| AtomicU64::default()).collect(),
            displaced: AtomicU64::default(),
            placing: (0..LOCKS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The number of a key; of one that is not known, the one it would begin with.
    pub(in crate::rate) fn get(&self, key: KeyHash) -> u64 {
        match self.find(key) {
            Some(place) => place.word.load(Ordering::Relaxed),
            None => self.start(key),
        }
    }

    /// Changes the number of a key, unless `change` gives an error; and says what it gave.
    ///
    /// Called again with a newer number whenever another thread was quicker. If the key has to take
    /// the place of another, that is counted if the number of that one is in use.
    pub(in crate::rate) fn update<T, E>(
        &self,
        key: KeyHash,
        is_in_use: impl Fn(u64) -> bool,
        mut change: impl FnMut(&mut u64) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut place = match self.find(key) {
            Some(place) => place,
            None => {
                // Who is refused at once needs no place.
                change(&mut self.start(key))?;
                self.place(key, &is_in_use)
            }
        };
        loop {
            let mut word = place.word.load(Ordering::Relaxed);
            let outcome = loop {
                let mut next = word;
                let given = change(&mut next)?;
                // Either this is seen by who takes the place away, or that is seen below.
                let (success, failure) = (Ordering::SeqCst, Ordering::Relaxed);
                match place.word.compare_exchange_weak(word, next, success, failure) {
                    Ok(_) => break given,
                    Err(newer) => word = newer,
                }
            };
            if place.key.load(Ordering::SeqCst) == key.bits().get() {
                return Ok(outcome);
            }
            // Another key took the place in between, with all that was used there.
            place = self.place(key, &is_in_use);
        }
    }

    /// Changes the number of a key that has a place, and says what that gave; nothing if it has none.
    ///
    /// The number may grow less, so the place must not go to another key meanwhile: that one would lose
    /// what this one is given back.
    pub(in crate::rate) fn update_known<T>(
        &self,
        key: KeyHash,
        mut change: impl FnMut(&mut u64) -> T,
    ) -> Option<T> {
        let _placing = self.lock(key);
        let place = self.find(key)?;
        let mut word = place.word.load(Ordering::Relaxed);
        loop {
            let mut next = word;
            let given = change(&mut next);
            let (success, failure) = (Ordering::SeqCst, Ordering::Relaxed);
            match place.word.compare_exchange_weak(word, next, success, failure) {
                Ok(_) => return Some(given),
                Err(newer) => word = newer,
            }
        }
    }

    /// Changes all numbers, also those that only newcomers would begin with.
    pub(in crate::rate) fn update_all(&self, change: impl Fn(u64) -> u64) {
        let update = |word: &AtomicU64| {
            // Nothing was used; fails, and leaves it so.
            let changed = |word| (word != 0).then(|| change(word));
            let _ = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed);
        };
        for group in &self.groups {
            group.places.iter().for_each(|place| update(&place.word));
        }
        self.given_up.iter().for_each(update);
    }

    /// How many keys have a place.
    pub(in crate::rate) fn len(&self) -> usize {
        let places = self.groups.iter().flat_map(|group| &group.places);
        places.filter(|place| place.key.load(Ordering::Relaxed) != NOBODY).count()
    }

    /// How many keys in use have lost their places to others so far.
    pub(in crate::rate) fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }

    fn find(&self, key: KeyHash) -> Option<&Place> {
        let first = self.first(key);
        // A key goes to its second group only when the first has no free place left.
        first.find(key.bits().get()).or_else(|| match first.find(NOBODY) {
            Some(_) => None,
            None => self.second(key).find(key.bits().get()),
        })
    }

    /// What a key begins with that has no place: as much as any key has used that it may be.
    fn start(&self, key: KeyHash) -> u64 {
        self.given_up(key.network()).load(Ordering::SeqCst)
    }

    fn given_up(&self, network: u16) -> &AtomicU64 {
        &self.given_up[usize::from(network) % self.given_up.len()]
    }

    /// The place of a key, which gets one if it has none: a free one, or that of the least used.
    ///
    /// Both groups are locked, so that nobody else gives a place in them away. Their holders are
    /// not: one may change its number until it sees that the place is not its own any more. So the
    /// place belongs to no key while its number is taken away, and gets its new key last: what the old
    /// one adds before it can see that is kept for it, and what it adds after that it will add again
    /// in another place.
    #[cold]
    fn place(&self, key: KeyHash, is_in_use: &dyn Fn(u64) -> bool) -> &Place {
        let _placing = self.lock(key);
        if let Some(place) = self.find(key) {
            return place;
        }
        let (group, index) = Group::least([self.first(key), self.second(key)]);
        let (place, network) = (&group.places[index], &group.networks[index]);
        if place.key.load(Ordering::Relaxed) != NOBODY {
            place.key.store(NOBODY_YET, Ordering::SeqCst);
            let used = place.word.swap(0, Ordering::SeqCst);
            self.given_up(network.load(Ordering::Relaxed)).fetch_max(used, Ordering::SeqCst);
            if is_in_use(used) {
                self.displaced.fetch_add(1, Ordering::Relaxed);
            }
        }
        network.store(key.network(), Ordering::Relaxed);
        place.word.fetch_max(self.start(key), Ordering::SeqCst);
        place.key.store(key.bits().get(), Ordering::SeqCst);
        place
    }

    /// The locks of both groups of a key, in an order that all threads keep to.
    fn lock(&self, key: KeyHash) -> (MutexGuard<'_, ()>, Option<MutexGuard<'_, ()>>) {
        let lock = |index: usize| unpoisoned(self.placing[index].lock());
        let groups = self.groups.len();
        let one = first_group(key, groups) % LOCKS;
        let other = second_group(key, groups) % LOCKS;
        let low = lock(one.min(other));
        (low, (one != other).then(|| lock(one.max(other))))
    }

    fn first(&self, key: KeyHash) -> &Group {
        &self.groups[first_group(key, self.groups.len())]
    }

    fn second(&self, key: KeyHash) -> &Group {
        &self.groups[second_group(key, self.groups.len())]
    }
}

impl fmt::Debug for AtomicTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicTable").field("places", &(self.groups.len() * GROUP)).finish()
    }
}

impl Group {
    /// The place of two groups that is given to the next key.
    fn least(groups: [&Self; 2]) -> (&Self, usize) {
        groups
            .into_iter()
            .flat_map(|group| (0..GROUP).map(move |index| (group, index)))
            .min_by_key(|(group, index)| group.places[*index].rank())
            .expect("a group has places")
    }

    /// A place that stands for this key, or for nobody.
    ///
    /// All places of a cache line are looked at, without a branch: in which one a key stands nobody
    /// can foresee, so a loop that ended there would lose more by it than it saves. To fetch the
    /// other line, where few keys stand, would cost more again.
    #[inline]
    fn find(&self, key: u64) -> Option<&Place> {
        let (near, far) = self.places.split_at(LINE);
        one_of(near, key).or_else(|| one_of(far, key))
    }
}

#[inline]
fn one_of(places: &[Place], key: u64) -> Option<&Place> {
    let found = places.iter().enumerate().fold(GROUP, |found, (index, place)| {
        if place.key.load(Ordering::Relaxed) == key { index } else { found }
    });
    places.get(found)
}

impl Place {
    /// Free places first, in their order; then the least used.
    fn rank(&self) -> (bool, u64) {
        let is_taken = self.key.load(Ordering::Relaxed) != NOBODY;
        (is_taken, if is_taken { self.word.load(Ordering::Relaxed) } else { 0 })
    }
}

/// The places of a group.
const GROUP: usize = 7;
/// The places of a cache line.
const LINE: usize = 4;
/// How many locks there are for groups.
const LOCKS: usize = 1_024;
/// Stands in a place that belongs to no key; no hash is zero.
const NOBODY: u64 = 0;
/// Stands in a place that is being given from one key to another; no hash is the greatest number.
const NOBODY_YET: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, convert::Infallible, thread};

    use proptest::prelude::*;

    use super::{super::super::KeyHasher, *};

    const HASHER: fn() -> KeyHasher = || KeyHasher::new([3, 1, 4, 1]);

    fn add(words: &AtomicTable, key: KeyHash, more: u64) -> u64 {
        let Ok(sum) = words.update(
            key,
            |_| true,
            |word| {
                *word += more;
                Ok::<_, Infallible>(*word)
            },
        );
        sum
    }

    #[test]
    fn as_many_keys_as_it_was_made_for_are_kept_apart() {
        let (words, hasher) = (AtomicTable::new(100_000), HASHER());
        let keys: Vec<_> = (0..100_000).map(|key: u64| hasher.hash(&key)).collect();
        keys.iter().for_each(|&key| _ = add(&words, key, 7));
        let shared = keys.iter().filter(|&&key| words.get(key) != 7).count();
        assert!(shared < 300, "{shared} of 100000 share a place or have none");
    }

    #[test]
    fn a_key_takes_no_more_than_37_bytes_with_its_share_of_the_networks() {
        assert_eq!(AtomicTable::BYTES_PER_KEY, 37);
        for keys in [65_536, 1_000_000] {
            let AtomicTable { groups, given_up, .. } = AtomicTable::new(keys);
            assert!(size_of_val(&*groups) + size_of_val(&*given_up) <= 37 * keys);
        }
    }

    proptest! {
        /// The law: whatever comes and goes, a key is never said to have used less than it has.
        #[test]
        fn a_table_that_is_too_small_counts_too_much_and_never_too_little(
            steps in prop::collection::vec((0u64..200, 1u64..5), 1..2_000),
        ) {
            let (words, hasher, mut used) = (AtomicTable::new(20), HASHER(), HashMap::new());
            for (key, more) in steps {
                let of_key = used.entry(key).or_insert(0);
                *of_key += more;
                prop_assert!(add(&words, hasher.hash(&key), more) >= *of_key);
            }
        }
    }

    #[test]
    fn who_is_refused_at_once_gets_no_place() {
        let (words, key) = (AtomicTable::new(10), HASHER().hash("ann"));
        assert_eq!(words.update(key, |_| true, |_| Err::<(), _>("no")), Err("no"));
        assert_eq!(words.len(), 0);
    }

    #[test]
    fn threads_that_meet_at_one_key_or_at_its_birth_lose_nothing() {
        const TIMES: u64 = 20_000;
        let (words, hasher) = (AtomicTable::new(1_000), HASHER());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for time in 0..TIMES {
                        add(&words, hasher.hash("shared"), 1);
                        add(&words, hasher.hash(&(time % 500)), 1);
                    }
                });
            }
        });
        assert_eq!(words.get(hasher.hash("shared")), 4 * TIMES);
        (0..500).for_each(|key: u64| assert_eq!(words.get(hasher.hash(&key)), 4 * TIMES / 500));
    }

    /// A key that is always the least used counts while it is put out of its place.
    #[test]
    fn what_is_added_while_the_place_is_given_away_is_not_lost() {
        let (words, hasher) = (AtomicTable::new(1), HASHER());
        let ann = hasher.hash("ann");
        thread::scope(|scope| {
            let counting = scope.spawn(|| {
                for _ in 0..200_000 {
                    let before = add(&words, ann, 1);
                    assert!(add(&words, ann, 1) > before);
                }
            });
            let mut number = 0_u64;
            while !counting.is_finished() {
                number += 1;
                add(&words, hasher.hash(&number), 10);
            }
        });
    }
}
