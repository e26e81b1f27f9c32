//! A table with one number per key. A key that has a place is charged without a lock.
//!
//! With every algorithm that uses this table, the number of a key grows with use, so the smallest
//! number belongs to the least used key. Zero always means that nothing was used.
//!
//! ```text
//! group: one cache line            a second cache line
//!   │ key word │ key word │ key word │ key word ║ key word │ key word │ key word │ networks │
//!
//! key of a place:  EMPTY ──► a key ──► RESERVED ──► another key ──► RESERVED ──► …
//!                  free                 handed over
//! ```
//!
//! # Concurrency
//!
//! Any thread may change a number at any time with a compare-and-exchange. The key of a place is
//! changed only under the lock of its group, so a key never has two places. Once a place has been
//! given to a key, it never becomes free again.
//!
//! The result of a search without the lock is therefore only a hint. If the search finds the key,
//! the subsequent change of the number detects whether the place has been handed over (see
//! [`AtomicTable::update`]). If the search does not find the key, the search is repeated under the
//! lock.

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

/// A table with one number per key, for a bounded number of keys.
pub(in crate::rate) struct AtomicTable {
    groups: Box<[Group]>,
    /// For each network, the greatest number that any key had when it lost its place. A key without
    /// a place may be such a displaced key, so it starts with the number of its network.
    given_up: Box<[AtomicU64]>,
    /// The number of keys that have lost their places while they were in use.
    displaced: AtomicU64,
    /// The locks of the groups. Many groups share one lock. The lock of a group is held while one
    /// of its places is given to a key, so that no key gets two places.
    placing: Box<[Mutex<()>]>,
}

/// Seven places in two cache lines. The places in the first line are filled first.
#[derive(Default)]
#[repr(align(64))]
struct Group {
    places: [Cell; GROUP],
    /// The network of the key in each place. The network is read only when the key is displaced, so
    /// it is stored apart from the key.
    networks: [AtomicU16; GROUP],
}

/// A key and its number.
#[derive(Default)]
struct Cell {
    key: AtomicU64,
    word: AtomicU64,
}

impl AtomicTable {
    /// The memory per key in use, in bytes, rounded up.
    ///
    /// There are 15 places for every 8 keys, because keys are spread unevenly over the groups. The
    /// additional two bytes are the key's share of the networks' numbers: eight bytes for every
    /// eight places.
    pub(in crate::rate) const BYTES_PER_KEY: u64 =
        (size_of::<Group>() * 15).div_ceil(8 * GROUP) as u64 + 2;

    /// Creates a table for `keys` keys in use at a time. The table uses 37 bytes per key.
    pub(in crate::rate) fn new(keys: usize) -> Self {
        let groups = keys.saturating_mul(15).div_ceil(8 * GROUP).max(1);
        Self {
            groups: (0..groups).map(|_| Group::default()).collect(),
            given_up: (0..networks(groups * GROUP)).map(|_| AtomicU64::default()).collect(),
            displaced: AtomicU64::default(),
            placing: (0..LOCKS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The number of a key, or its starting number if the key has no place.
    pub(in crate::rate) fn get(&self, key: KeyHash) -> u64 {
        match self.find(key) {
            // Relaxed suffices, because no charge depends on this number, and a stale number does
            // no more harm than a read that happened a moment earlier.
            Some(place) => place.word.load(Ordering::Relaxed),
            None => self.start(key),
        }
    }

    /// Changes the number of a key unless `change` returns an error. Returns the result of
    /// `change`.
    ///
    /// `change` is called again with a newer number whenever another thread has changed the number
    /// first. `change` may also be applied to the number of a different key that has received the
    /// place in the meantime. `change` may therefore add to the number or cap the number, but must
    /// not refund anything. Use [`update_known`](Self::update_known) for refunds. If the key
    /// displaces another key, and `is_in_use` returns true for the number of the displaced key,
    /// [`displaced`](Self::displaced) counts the displaced key.
    ///
    /// # Why no charge is lost
    ///
    /// A charging thread adds to the word and then reads the key of the place. A thread that hands
    /// the place over (in [`place`](Self::place)) overwrites the key and then takes the word. All
    /// four operations are SeqCst, so they have a single total order, in which there are two cases:
    ///
    /// ```text
    /// add ── take          the taken number contains the charge, and the network keeps it
    /// take ── add          thus: overwrite key ── take ── add ── read key; this read shows the
    ///                      handover, and the charge is added again in the key's next place
    /// ```
    ///
    /// In the second case, the charge also remains in the word of the new key, so the table may
    /// count too much, but never too little. If all four operations were Relaxed, the read could
    /// miss the handover in the second case, and the charge would be lost. Acquire and Release on
    /// the word would be enough to prevent this loss, but SeqCst reduces the argument to a single
    /// order of all operations.
    pub(in crate::rate) fn update<T, E>(
        &self,
        key: KeyHash,
        is_in_use: impl Fn(u64) -> bool,
        mut change: impl FnMut(&mut u64) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut place = match self.find(key) {
            Some(place) => place,
            None => {
                // A key that is refused at once needs no place, and must not displace another key.
                // The starting number may be out of date. If the change is accepted, it is repeated
                // below, starting from the number stored in the key's place.
                change(&mut self.start(key))?;
                self.place(key, &is_in_use)
            }
        };
        loop {
            // Relaxed suffices for reading the word. The exchange below compares the word with the
            // latest value, so a request is never allowed because of a stale number. At worst, a
            // stale number causes the refusal of a request that arrives while the number changes.
            let mut word = place.word.load(Ordering::Relaxed);
            let outcome = loop {
                let mut next = word;
                let given = change(&mut next)?;
                // The ordering on success is SeqCst, because this is "add" in the documentation
                // above. SeqCst also rules out the opposite error, in which a handover takes away a
                // charge for the new key, because the charging thread saw the new key through a
                // relaxed load before the handover was complete. The addition of that charge would
                // have to happen before the take, because the addition releases and the take
                // acquires. The addition would then also happen before the new key is written,
                // which is impossible, because the charging thread reads the new key before the
                // addition.
                let (success, failure) = (Ordering::SeqCst, Ordering::Relaxed);
                match place.word.compare_exchange_weak(word, next, success, failure) {
                    Ok(_) => break given,
                    Err(newer) => word = newer,
                }
            };
            // This load is "read key" in the documentation above.
            if place.key.load(Ordering::SeqCst) == key.bits().get() {
                return Ok(outcome);
            }
            // The place was handed over in the meantime. The charge is repeated in the key's
            // current place, starting from the number stored there.
            place = self.place(key, &is_in_use);
        }
    }

    /// Changes the number of a key that has a place, and returns the result of `change`, or `None`
    /// if the key has no place.
    ///
    /// In contrast to [`update`](Self::update), the number may decrease. The locks are therefore
    /// held, which prevents the place from being handed over. Otherwise, the refund could be
    /// deducted from the number of another key, whose recorded usage would then be too low.
    pub(in crate::rate) fn update_known<T>(
        &self,
        key: KeyHash,
        mut change: impl FnMut(&mut u64) -> T,
    ) -> Option<T> {
        let _placing = self.lock(key);
        let place = self.find(key)?;
        // `update` takes no lock, so the word may still change. The change is repeated until no
        // other change interferes.
        let mut word = place.word.load(Ordering::Relaxed);
        loop {
            let mut next = word;
            let given = change(&mut next);
            // The ordering on success is SeqCst, so that this change and those of `update_all` are
            // in the same total order as the counter of meter changes (see
            // `AtomicMemory::by_meter`).
            let (success, failure) = (Ordering::SeqCst, Ordering::Relaxed);
            match place.word.compare_exchange_weak(word, next, success, failure) {
                Ok(_) => return Some(given),
                Err(newer) => word = newer,
            }
        }
    }

    /// Changes all numbers, including the starting numbers of new keys.
    ///
    /// The method takes no lock, and changes every number separately. The update may miss a number
    /// that is being moved from a place to a network at the same time.
    pub(in crate::rate) fn update_all(&self, change: impl Fn(u64) -> u64) {
        let update = |word: &AtomicU64| {
            // Zero means that nothing was used, whatever the unit. A number that is zero is
            // therefore left unchanged.
            let changed = |word| (word != 0).then(|| change(word));
            // The ordering is SeqCst, because `AtomicMemory::by_meter` relies on a single total
            // order.
            let _ = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed);
        };
        for group in &self.groups {
            group.places.iter().for_each(|place| update(&place.word));
        }
        self.given_up.iter().for_each(update);
    }

    /// The number of keys that have a place, whether or not they are in use.
    pub(in crate::rate) fn len(&self) -> usize {
        let places = self.groups.iter().flat_map(|group| &group.places);
        places.filter(|place| place.key.load(Ordering::Relaxed) != EMPTY).count()
    }

    /// The number of keys that have lost their places to other keys while they were in use.
    pub(in crate::rate) fn displaced(&self) -> u64 {
        // Relaxed suffices for a figure that is only reported.
        self.displaced.load(Ordering::Relaxed)
    }

    /// The place of a key. Without the lock, the result is a hint that may be out of date.
    fn find(&self, key: KeyHash) -> Option<&Cell> {
        let first = self.first(key);
        // A key is placed in its second group only if the first group has no free place, and places
        // never become free again. If the key is not in the first group although that group has a
        // free place, the key therefore has no place at all, and the second group need not be
        // fetched from memory.
        first.find(key.bits().get()).or_else(|| match first.find(EMPTY) {
            Some(_) => None,
            None => self.second(key).find(key.bits().get()),
        })
    }

    /// The starting number of a key without a place: the greatest number that the key could have
    /// had.
    fn start(&self, key: KeyHash) -> u64 {
        self.given_up(key.network()).load(Ordering::SeqCst)
    }

    /// The greatest number that any displaced key of a network had.
    fn given_up(&self, network: u16) -> &AtomicU64 {
        &self.given_up[usize::from(network) % self.given_up.len()]
    }

    /// Returns the place of a key. A key without a place gets a free place, or the place of the
    /// least used key in its two groups.
    ///
    /// Both groups are locked, so no other thread hands over a place in them. The numbers are not
    /// locked: a thread that charges the old key may change its number until it sees that the place
    /// no longer belongs to that key. The order of the following four steps ensures that no charge
    /// is lost:
    ///
    /// 1. The place is marked as belonging to no key. A thread that adds a charge for the old key
    ///    after this step then sees the mark, and charges again elsewhere.
    /// 2. The number is taken and stored for the network. The number contains the charges of all
    ///    threads that have not seen the mark.
    /// 3. The starting number of the new key is written.
    /// 4. The new key is written last, so its charges are added to that starting number.
    #[cold]
    fn place(&self, key: KeyHash, is_in_use: &dyn Fn(u64) -> bool) -> &Cell {
        let _placing = self.lock(key);
        // Another thread may have placed the key since the search without the lock. The keys of
        // these groups are written only under this lock, so this search sees the latest keys.
        if let Some(place) = self.find(key) {
            return place;
        }
        let (group, index) = Group::least([self.first(key), self.second(key)]);
        let (place, network) = (&group.places[index], &group.networks[index]);
        if place.key.load(Ordering::Relaxed) != EMPTY {
            // The next three statements are steps 1 and 2, "overwrite key" and "take". The mark is
            // not `EMPTY`, because a free place in the first group of a key means that the key is
            // not in its second group.
            place.key.store(RESERVED, Ordering::SeqCst);
            let used = place.word.swap(0, Ordering::SeqCst);
            // The network is read and written only under the lock, so Relaxed suffices for it.
            self.given_up(network.load(Ordering::Relaxed)).fetch_max(used, Ordering::SeqCst);
            if is_in_use(used) {
                self.displaced.fetch_add(1, Ordering::Relaxed);
            }
        }
        network.store(key.network(), Ordering::Relaxed);
        // This is step 3. The starting number is read under the lock, after any earlier handover in
        // these groups, so it includes what this key had used when it last lost a place. The word
        // may already contain a late charge of the old key. The greater of the two numbers is kept,
        // so the table may count too much, but never too little.
        place.word.fetch_max(self.start(key), Ordering::SeqCst);
        // This is step 4.
        place.key.store(key.bits().get(), Ordering::SeqCst);
        place
    }

    /// Locks both groups of a key.
    ///
    /// All threads take the lock with the lower index first, so two threads cannot deadlock. If
    /// both groups share a lock, it is taken only once.
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
    /// The place that a new key gets in its two groups: a free place if there is one, preferably in
    /// the first group, or otherwise the place of the least used key.
    fn least(groups: [&Self; 2]) -> (&Self, usize) {
        groups
            .into_iter()
            .flat_map(|group| (0..GROUP).map(move |index| (group, index)))
            .min_by_key(|(group, index)| group.places[*index].rank())
            .expect("a group has places")
    }

    /// Finds the place of a key, or a free place if `key` is [`EMPTY`].
    ///
    /// All places of a cache line are compared, without a branch between them. The position of a
    /// key is unpredictable, so a loop that stopped at the match would lose more through
    /// mispredicted branches than it would save. The second cache line contains fewer keys, and is
    /// fetched only if the first line has no match.
    #[inline]
    fn find(&self, key: u64) -> Option<&Cell> {
        let (near, far) = self.places.split_at(LINE);
        one_of(near, key).or_else(|| one_of(far, key))
    }
}

/// The place of a key among the places of one cache line, found without a branch per place.
///
/// Relaxed suffices for reading keys. A key that is found is read again after its number has been
/// changed, and a key that is not found is searched for again under the lock.
#[inline]
fn one_of(places: &[Cell], key: u64) -> Option<&Cell> {
    let found = places.iter().enumerate().fold(GROUP, |found, (index, place)| {
        if place.key.load(Ordering::Relaxed) == key { index } else { found }
    });
    places.get(found)
}

impl Cell {
    /// The order in which places are given to new keys: free places first, then the places of the
    /// least used keys.
    ///
    /// The keys are read under the lock, but the numbers may change while they are compared. At
    /// worst, a key that is not the least used loses its place, which does no harm.
    fn rank(&self) -> (bool, u64) {
        let is_taken = self.key.load(Ordering::Relaxed) != EMPTY;
        (is_taken, if is_taken { self.word.load(Ordering::Relaxed) } else { 0 })
    }
}

/// The number of places in a group: as many as fit into two cache lines together with their
/// networks.
const GROUP: usize = 7;
/// The number of places in a cache line of 64 bytes.
const LINE: usize = 4;
/// The number of locks that the groups share.
const LOCKS: usize = 1_024;
/// The value of `key` in a place that has never been given to a key. No hash is zero.
const EMPTY: u64 = 0;
/// The value of `key` in a place that is being handed over. No hash is `u64::MAX`.
const RESERVED: u64 = u64::MAX;

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
        /// For any sequence of keys, the number of a key is never less than what the key has used.
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

    /// One thread charges a key that is always the least used, while another thread keeps
    /// displacing it.
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
