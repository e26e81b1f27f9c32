//! A table of one number for each key, without locks on the way of a known key.
//!
//! The numbers of all algorithms that are kept here grow with what was used, so the least number
//! is the least used key.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{super::KeyHash, first_group, second_group};

/// One number for each of so many keys.
pub(in crate::rate) struct Words {
    groups: Box<[Group]>,
    /// Held while a key gets its place, so that it does not get two.
    placing: Box<[Mutex<()>]>,
}

/// Two cache lines, of which the first is filled first.
#[derive(Default)]
#[repr(align(64))]
struct Group {
    places: [Place; GROUP],
    /// The greatest number of a key that lost its place in this group. Who may be that key starts
    /// with it.
    given_up: AtomicU64,
}

/// A key and its number. A place that was given to a key always belongs to one.
#[derive(Default)]
struct Place {
    key: AtomicU64,
    word: AtomicU64,
}

impl Words {
    /// A table for `keys` keys that are in use at a time; 34 bytes for each.
    pub(in crate::rate) fn new(keys: usize) -> Self {
        let groups = keys.saturating_mul(15).div_ceil(8 * GROUP).max(1);
        Self {
            groups: (0..groups).map(|_| Group::default()).collect(),
            placing: (0..LOCKS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The number of a key; 0 for one that is not known.
    pub(in crate::rate) fn get(&self, key: KeyHash) -> u64 {
        self.find(key).map_or(0, |place| place.word.load(Ordering::Relaxed))
    }

    /// Whether a key has a place.
    pub(in crate::rate) fn knows(&self, key: KeyHash) -> bool {
        self.find(key).is_some()
    }

    /// Changes the number of a key, unless `change` gives an error; and says what it gave.
    ///
    /// Called again with a newer number whenever another thread was quicker.
    pub(in crate::rate) fn update<T, E>(
        &self,
        key: KeyHash,
        mut change: impl FnMut(&mut u64) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut place = match self.find(key) {
            Some(place) => place,
            None => {
                // Who would be refused even as a new key needs no place.
                change(&mut 0)?;
                self.place(key)
            }
        };
        loop {
            let mut word = place.word.load(Ordering::Relaxed);
            let outcome = loop {
                let mut next = word;
                let given = change(&mut next)?;
                match place.word.compare_exchange_weak(
                    word,
                    next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => break given,
                    Err(newer) => word = newer,
                }
            };
            if place.key.load(Ordering::Relaxed) == key.bits().get() {
                return Ok(outcome);
            }
            // Another key took the place in between, with all that was used there.
            place = self.place(key);
        }
    }

    /// Changes the numbers of all keys.
    pub(in crate::rate) fn update_all(&self, change: impl Fn(u64) -> u64) {
        for place in self.groups.iter().flat_map(|group| &group.places) {
            if place.key.load(Ordering::Relaxed) != NOBODY {
                let _ = place
                    .word
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| Some(change(word)));
            }
        }
    }

    /// How many keys have a place.
    pub(in crate::rate) fn len(&self) -> usize {
        let places = self.groups.iter().flat_map(|group| &group.places);
        places.filter(|place| place.key.load(Ordering::Relaxed) != NOBODY).count()
    }

    fn find(&self, key: KeyHash) -> Option<&Place> {
        let first = self.first(key);
        // A key goes to its second group only when the first has no free place left.
        first.find(key.bits().get()).or_else(|| match first.find(NOBODY) {
            Some(_) => None,
            None => self.second(key).find(key.bits().get()),
        })
    }

    /// The place of a key, which gets one if it has none: a free one, or that of the least used.
    #[cold]
    fn place(&self, key: KeyHash) -> &Place {
        let lock = &self.placing[first_group(key, self.placing.len())];
        let _placing = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let groups = [self.first(key), self.second(key)];
        loop {
            if let Some(place) = self.find(key) {
                return place;
            }
            let (group, place) = groups
                .iter()
                .flat_map(|group| group.places.iter().map(move |place| (group, place)))
                .min_by_key(|(_, place)| place.rank())
                .expect("a group has places");
            let holder = place.key.load(Ordering::Relaxed);
            if holder != NOBODY {
                group.given_up.fetch_max(place.word.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            // The number is right before the place has its key, so nobody reads less.
            for group in groups {
                place.word.fetch_max(group.given_up.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            let (relaxed, key) = (Ordering::Relaxed, key.bits().get());
            if place.key.compare_exchange(holder, key, relaxed, relaxed).is_ok() {
                return place;
            }
            // A key that holds another of the locks was quicker.
        }
    }

    fn first(&self, key: KeyHash) -> &Group {
        &self.groups[first_group(key, self.groups.len())]
    }

    fn second(&self, key: KeyHash) -> &Group {
        &self.groups[second_group(key, self.groups.len())]
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").field("places", &(self.groups.len() * GROUP)).finish()
    }
}

impl Group {
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
/// How many keys can get a place at a time.
const LOCKS: usize = 64;
/// Stands in a place that belongs to no key; no hash is zero.
const NOBODY: u64 = 0;

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, convert::Infallible, thread};

    use proptest::prelude::*;

    use super::{super::super::KeyHasher, *};

    const HASHER: fn() -> KeyHasher = || KeyHasher::new([3, 1, 4, 1]);

    fn add(words: &Words, key: KeyHash, more: u64) -> u64 {
        let Ok(sum) = words.update(key, |word| {
            *word += more;
            Ok::<_, Infallible>(*word)
        });
        sum
    }

    #[test]
    fn as_many_keys_as_it_was_made_for_are_kept_apart() {
        let (words, hasher) = (Words::new(100_000), HASHER());
        let keys: Vec<_> = (0..100_000).map(|key: u64| hasher.hash(&key)).collect();
        keys.iter().for_each(|&key| _ = add(&words, key, 7));
        let shared = keys.iter().filter(|&&key| words.get(key) != 7).count();
        assert!(shared < 300, "{shared} of 100000 share a place or have none");
    }

    #[test]
    fn a_key_takes_no_more_than_36_bytes() {
        let groups = Words::new(1_000_000).groups.len();
        assert!(groups * size_of::<Group>() <= 36 * 1_000_000);
    }

    proptest! {
        /// The law: whatever comes and goes, a key is never said to have used less than it has.
        #[test]
        fn a_table_that_is_too_small_counts_too_much_and_never_too_little(
            steps in prop::collection::vec((0u64..200, 1u64..5), 1..2_000),
        ) {
            let (words, hasher, mut used) = (Words::new(20), HASHER(), HashMap::new());
            for (key, more) in steps {
                let of_key = used.entry(key).or_insert(0);
                *of_key += more;
                prop_assert!(add(&words, hasher.hash(&key), more) >= *of_key);
            }
        }
    }

    #[test]
    fn who_is_refused_at_once_gets_no_place() {
        let (words, key) = (Words::new(10), HASHER().hash("ann"));
        assert_eq!(words.update(key, |_| Err::<(), _>("no")), Err("no"));
        assert_eq!(words.len(), 0);
    }

    #[test]
    fn threads_that_meet_at_one_key_or_at_its_birth_lose_nothing() {
        const TIMES: u64 = 20_000;
        let (words, hasher) = (Words::new(1_000), HASHER());
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
}
