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
//! changed only under the lock of its stripe, which contains both groups of the key, so a key never
//! has two places. Once a place has been given to a key, it never becomes free again.
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
    /// The locks of the stripes. The lock of a stripe is held while a place in the stripe is given
    /// to a key, so that no key gets two places.
    placing: Box<[Mutex<()>]>,
    /// The number of groups in a stripe, as a power of two. The two groups of a key are in the same
    /// stripe, so one lock covers both.
    stripe_bits: u32,
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
        let stripe_bits = groups.div_ceil(LOCKS).next_power_of_two().max(STRIPE).ilog2();
        Self {
            groups: (0..groups).map(|_| Group::default()).collect(),
            given_up: (0..networks(groups * GROUP)).map(|_| AtomicU64::default()).collect(),
            displaced: AtomicU64::default(),
            placing: (0..(groups >> stripe_bits).max(1)).map(|_| Mutex::default()).collect(),
            stripe_bits,
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
    /// count too much, but not too little. One exception is left: if the place goes to another key
    /// with exactly the same number and back to the first key, both between two adjacent steps of
    /// the charging thread, one charge of this thread is lost. If all four operations were Relaxed, the read could
    /// miss the handover in the second case, and the charge would be lost. Acquire and Release on
    /// the word would be enough to prevent this loss, but SeqCst reduces the argument to a single
    /// order of all operations.
    pub(in crate::rate) fn update<T, E>(
        &self,
        key: KeyHash,
        is_in_use: impl Fn(u64) -> bool,
        change: impl Fn(&mut u64) -> Result<T, E>,
    ) -> Result<T, E> {
        match self.find(key) {
            Some(place) => {
                if let Some(outcome) = place.update(key, &change)? {
                    return Ok(outcome);
                }
            }
            // A key that is refused at once needs no place, so it takes no lock and displaces no
            // other key. The starting number may be out of date, so a change that is accepted is
            // repeated under the lock.
            None => _ = change(&mut self.start(key))?,
        }
        loop {
            match self.place(key, &is_in_use, &change)? {
                Placed::Before(place) => {
                    if let Some(outcome) = place.update(key, &change)? {
                        return Ok(outcome);
                    }
                }
                Placed::Now(outcome) => return Ok(outcome),
            }
        }
    }

    /// The same as [`update`](Self::update), but only for a key that is found in its first group,
    /// where most keys are. Returns `None` if the change has to be made by `update`.
    #[inline(always)]
    pub(in crate::rate) fn update_first<T, E>(
        &self,
        key: KeyHash,
        change: impl Fn(&mut u64) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        self.first(key).find(key.bits().get())?.update(key, &change).transpose()
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
            let success = Ordering::SeqCst;
            let failure = Ordering::Relaxed;
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

    /// The numbers of the keys in the first places, up to about `most` of them, and the fraction of
    /// all places that was visited. Keys are placed by their hashes, so the keys in the first
    /// places are a random sample.
    pub(in crate::rate) fn sample(&self, most: usize) -> (impl Iterator<Item = u64>, f64) {
        let groups = most.div_ceil(GROUP).clamp(1, self.groups.len());
        let places = self.groups[..groups].iter().flat_map(|group| &group.places);
        let taken = places.filter(|place| place.key.load(Ordering::Relaxed) != EMPTY);
        let words = taken.map(|place| place.word.load(Ordering::Relaxed));
        (words, super::share_of(groups, self.groups.len()))
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
        // fetched from memory. The places of a group are filled in order, so the last place tells
        // whether one is free.
        first.find(key.bits().get()).or_else(|| {
            let is_full = first.places[GROUP - 1].key.load(Ordering::Relaxed) != EMPTY;
            if is_full { self.second(key).find(key.bits().get()) } else { None }
        })
    }

    /// The starting number of a key without a place: the greatest number that the key could have
    /// had.
    fn start(&self, key: KeyHash) -> u64 {
        self.given_up(key.network()).load(Ordering::SeqCst)
    }

    /// The greatest number that any displaced key of a network had.
    #[inline]
    fn given_up(&self, network: u16) -> &AtomicU64 {
        &self.given_up[usize::from(network) % self.given_up.len()]
    }

    /// Gives a key without a place a free place, or the place of the least used key in its two
    /// groups, and makes the first change of its number. If the key has a place, nothing is changed.
    ///
    /// Both groups are locked, so no other thread hands over a place in them. The numbers are not
    /// locked: a thread that charges the old key may change its number until it sees that the place
    /// no longer belongs to that key. The order of the following three steps ensures that no charge
    /// is lost:
    ///
    /// 1. The place is marked as belonging to no key. A thread that adds a charge for the old key
    ///    after this step then sees the mark, and charges again elsewhere.
    /// 2. The number is replaced by the changed starting number of the new key. The replaced number
    ///    contains the charges of all threads that have not seen the mark. It is stored for the
    ///    network of the old key.
    /// 3. The new key is written last, so its further charges are added to that number.
    ///
    /// # Errors
    ///
    /// Returns the error of `change`. In that case, no key is displaced.
    fn place<T, E>(
        &self,
        key: KeyHash,
        is_in_use: &impl Fn(u64) -> bool,
        change: &impl Fn(&mut u64) -> Result<T, E>,
    ) -> Result<Placed<'_, T>, E> {
        let _placing = self.lock(key);
        // Another thread may have placed the key since the search without the lock. The keys of
        // these groups are written only under this lock, so this search sees the latest keys.
        let (group, index) = match Group::seat([self.first(key), self.second(key)], key) {
            Seat::Own(place) => return Ok(Placed::Before(place)),
            Seat::Least(group, index) => (group, index),
        };
        let place = &group.places[index];
        let network = &group.networks[index];
        // The starting number is read under the lock, after any earlier handover in these groups,
        // so it includes what this key had used when it last lost a place.
        let mut number = self.start(key);
        let outcome = change(&mut number)?;
        if place.key.load(Ordering::Relaxed) == EMPTY {
            place.word.store(number, Ordering::SeqCst);
            network.store(key.network(), Ordering::Relaxed);
            place.key.store(key.bits().get(), Ordering::Release);
            return Ok(Placed::Now(outcome));
        }
        // The network is read and written only under the lock, so Relaxed suffices for it.
        let shared = self.given_up(network.load(Ordering::Relaxed));
        // This is step 1, "overwrite key". The mark is not `EMPTY`, because a free place in the
        // first group of a key means that the key is not in its second group.
        place.key.store(RESERVED, Ordering::SeqCst);
        // This is step 2, "take". A late charge of the old key is added to the new number, so the
        // table may count too much, but never too little.
        let used = place.word.swap(number, Ordering::SeqCst);
        // If the network's number is already as great, no exclusive access is needed.
        if shared.load(Ordering::SeqCst) < used {
            shared.fetch_max(used, Ordering::SeqCst);
        }
        if is_in_use(used) {
            self.displaced.fetch_add(1, Ordering::Relaxed);
        }
        network.store(key.network(), Ordering::Relaxed);
        // This is step 3. Release suffices. A thread that finds the old key must see the mark or
        // this later key, which the order of the first two steps ensures. A thread that finds this
        // key changes the word after the exchange, because its change would otherwise happen
        // before the exchange, and thus before this store, which it has read.
        place.key.store(key.bits().get(), Ordering::Release);
        Ok(Placed::Now(outcome))
    }

    /// Locks both groups of a key, which are in the same stripe.
    fn lock(&self, key: KeyHash) -> MutexGuard<'_, ()> {
        unpoisoned(self.placing[self.stripe(self.first_index(key))].lock())
    }

    #[inline]
    fn first(&self, key: KeyHash) -> &Group {
        &self.groups[self.first_index(key)]
    }

    /// The second group of a key, which is in the stripe of its first group.
    fn second(&self, key: KeyHash) -> &Group {
        let stripe = self.stripe(self.first_index(key));
        let begin = stripe << self.stripe_bits;
        // The last stripe also contains the groups that do not fill another stripe.
        let is_last = stripe + 1 == self.placing.len();
        let end = if is_last { self.groups.len() } else { begin + (1 << self.stripe_bits) };
        &self.groups[begin + second_group(key, end - begin)]
    }

    #[inline]
    fn first_index(&self, key: KeyHash) -> usize {
        first_group(key, self.groups.len())
    }

    /// The index of the stripe that contains the group with this index.
    fn stripe(&self, group: usize) -> usize {
        (group >> self.stripe_bits).min(self.placing.len() - 1)
    }
}

impl fmt::Debug for AtomicTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicTable").field("places", &(self.groups.len() * GROUP)).finish()
    }
}

impl Group {
    /// The place of a key in its two groups. A key without a place gets a free place, preferably in
    /// the first group, or else the place of the least used key.
    ///
    /// The keys are read under the lock, but the numbers may change while they are compared. At
    /// worst, a key that is not the least used loses its place, which does no harm.
    fn seat(groups: [&Self; 2], key: KeyHash) -> Seat<'_> {
        let mut least = u64::MAX;
        let mut seat = (groups[0], 0);
        for group in groups {
            for (index, place) in group.places.iter().enumerate() {
                let holder = place.key.load(Ordering::Relaxed);
                if holder == key.bits().get() {
                    return Seat::Own(place);
                }
                // A free place ranks before all others.
                let number = place.word.load(Ordering::Relaxed);
                let rank = if holder == EMPTY { 0 } else { number.max(1) };
                if rank < least {
                    least = rank;
                    seat = (group, index);
                }
            }
        }
        Seat::Least(seat.0, seat.1)
    }

    /// Finds the place of a key.
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
    /// Changes the number, unless `change` returns an error. Returns the result of `change`, or
    /// `None` if the place was handed over in the meantime and the charge has to be repeated.
    #[inline(always)]
    fn update<T, E>(
        &self,
        key: KeyHash,
        change: &impl Fn(&mut u64) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        // The exchange below compares the word with the latest value, so a request is never allowed
        // because of a stale number. At worst, a stale number causes the refusal of a request that
        // arrives while the number changes. Acquire keeps the read of the key after this load.
        let mut word = self.word.load(Ordering::Acquire);
        let outcome = loop {
            // Without this check, the number could be that of a key that has received the place
            // since the search, and the place could return to the first key before the last check.
            if self.key.load(Ordering::Relaxed) != key.bits().get() {
                return Ok(None);
            }
            let mut next = word;
            let given = change(&mut next)?;
            // The ordering on success is SeqCst, because this is "add" in the documentation of
            // `AtomicTable::update`. SeqCst also rules out the opposite error, in which a handover
            // takes away a charge for the new key, because the charging thread saw the new key
            // through a relaxed load before the handover was complete. The addition of that charge
            // would have to happen before the take, because the addition releases and the take
            // acquires. The addition would then also happen before the new key is written, which is
            // impossible, because the charging thread reads the new key before the addition.
            let success = Ordering::SeqCst;
            let failure = Ordering::Acquire;
            match self.word.compare_exchange_weak(word, next, success, failure) {
                Ok(_) => break given,
                Err(newer) => word = newer,
            }
        };
        // This load is "read key" in the documentation of `AtomicTable::update`.
        let is_kept = self.key.load(Ordering::SeqCst) == key.bits().get();
        Ok(is_kept.then_some(outcome))
    }
}

/// The place of a key in its groups, or the place that it gets.
enum Seat<'a> {
    Least(&'a Group, usize),
    Own(&'a Cell),
}

/// The place of a key after [`AtomicTable::place`].
enum Placed<'a, T> {
    /// The key had a place before, so nothing was changed.
    Before(&'a Cell),
    /// The key got a place, and its number was changed with this result.
    Now(T),
}

/// The number of places in a group: as many as fit into two cache lines together with their
/// networks.
const GROUP: usize = 7;
/// The number of places in a cache line of 64 bytes.
const LINE: usize = 4;
/// The largest number of stripes, each of which has a lock.
const LOCKS: usize = 1_024;
/// The smallest number of groups in a stripe, unless the table has fewer groups. Keys are spread
/// evenly enough over the 112 places of such a stripe that no stripe is full long before the others.
const STRIPE: usize = 16;
/// The value of `key` in a place that has never been given to a key. No hash is zero.
const EMPTY: u64 = 0;
/// The value of `key` in a place that is being handed over. No hash is `u64::MAX`.
const RESERVED: u64 = u64::MAX;

#[cfg(test)]
mod tests;
