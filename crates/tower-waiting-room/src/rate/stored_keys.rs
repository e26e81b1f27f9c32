//! How many keys of a limit this node has a store keep.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use waiting_room_core::{KeyHash, Quota, Timestamp};

/// The keys of one limit that this node has asked a store about, for as long as the store keeps them.
///
/// Once there are as many as the limit remembers, keys that are new share one with the other new keys
/// of their network, as they do in a table of this process: it tells one network apart for each eight
/// of its keys. So the store keeps for each node no more than the limit remembers, and one key in eight
/// besides for all nodes together.
#[derive(Clone, Debug)]
pub(super) struct StoredKeys {
    most: usize,
    /// The store has forgotten a key that was not used for this long.
    kept_for: Duration,
    used: Arc<UsedKeys>,
}

#[derive(Debug, Default)]
struct UsedKeys {
    sets: Mutex<Sets>,
    /// How many requests were judged by the network of their key.
    displaced: AtomicU64,
}

/// No key is in both sets.
#[derive(Debug, Default)]
struct Sets {
    lately: HashSet<u64>,
    before: HashSet<u64>,
    /// When the set of those used lately was begun.
    since: Timestamp,
}

impl StoredKeys {
    /// For a limit of these quotas, of which the memory may be that of one that it takes the place of.
    pub(super) fn new(most: usize, quotas: &[Quota], before: Option<&Self>) -> Self {
        let longest = quotas.iter().map(Quota::replenished_in).max().unwrap_or_default();
        let used = before.map(|before| Arc::clone(&before.used)).unwrap_or_default();
        // A sliding counter looks back at the window before.
        Self { most, kept_for: longest.saturating_mul(2), used }
    }

    /// The key under which the store is asked about this one.
    pub(super) fn of(&self, key: KeyHash, now: Timestamp) -> KeyHash {
        let mut sets = self.used.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let age = now.since(sets.since);
        if age >= self.kept_for {
            let lately = std::mem::take(&mut sets.lately);
            let is_old = age >= self.kept_for.saturating_mul(2);
            sets.before = if is_old { HashSet::new() } else { lately };
            sets.since = now;
        }
        let bits = key.as_u64();
        if sets.lately.contains(&bits) {
            return key;
        }
        let is_known = sets.before.remove(&bits);
        if is_known || sets.lately.len() + sets.before.len() < self.most {
            sets.lately.insert(bits);
            return key;
        }
        self.used.displaced.fetch_add(1, Ordering::Relaxed);
        key.network_key(u16::try_from(self.most / 8).unwrap_or(u16::MAX))
    }

    /// How many requests were judged by the network of their key.
    pub(super) fn displaced(&self) -> u64 {
        self.used.displaced.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_core::KeyHasher;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// Keys of a limit per day that remembers 100.
    fn keys() -> StoredKeys {
        StoredKeys::new(100, &[Quota::per_day(5)], None)
    }

    fn key(number: u32) -> KeyHash {
        KeyHasher::new([3, 1, 4, 1]).hash(&number)
    }

    /// How many of these keys the store is asked about by themselves.
    fn own(keys: &StoredKeys, numbers: std::ops::Range<u32>, now: Timestamp) -> usize {
        numbers.filter(|it| keys.of(key(*it), now) == key(*it)).count()
    }

    #[test]
    fn a_store_is_asked_about_as_many_keys_as_the_limit_remembers() {
        let (keys, now) = (keys(), Timestamp::ZERO + DAY);
        assert_eq!(own(&keys, 0..1_000, now), 100);
        assert_eq!(keys.displaced(), 900);
        // A key that has its place keeps it, and one that has none does not get it later.
        assert_eq!(own(&keys, 0..100, now), 100);
        assert_eq!(own(&keys, 100..1_000, now), 0);
    }

    #[test]
    fn keys_that_are_new_to_a_full_limit_share_one_with_their_network() {
        let (keys, now) = (keys(), Timestamp::ZERO + DAY);
        own(&keys, 0..100, now);
        let network = |number: u32| key(1_000_000 + number);
        let of = |number, net| keys.of(key(number).of_network(network(net)), now);
        assert_eq!(of(200, 1), of(201, 1));
        assert_ne!(of(200, 1), key(200));
        let networks: HashSet<u64> = (0..1_000).map(|net| of(200, net).as_u64()).collect();
        assert_eq!(networks.len(), 12, "one for each eight of its keys");
    }

    #[test]
    fn a_key_that_is_used_keeps_its_place_and_one_that_is_not_gives_it_up() {
        let (keys, start) = (keys(), Timestamp::ZERO + DAY);
        own(&keys, 0..100, start);
        // The store may keep them for two days; for as long again it is not known which it keeps.
        assert_eq!(own(&keys, 0..10, start + DAY * 2), 10);
        assert_eq!(own(&keys, 100..200, start + DAY * 2), 0);
        assert_eq!(own(&keys, 0..10, start + DAY * 4), 10);
        assert_eq!(own(&keys, 100..200, start + DAY * 4), 90);
    }

    #[test]
    fn after_a_long_silence_all_places_are_free() {
        let (keys, start) = (keys(), Timestamp::ZERO + DAY);
        own(&keys, 0..100, start);
        assert_eq!(own(&keys, 200..300, start + DAY * 4), 100);
    }

    #[test]
    fn a_limit_that_takes_the_place_of_another_goes_on_with_its_keys() {
        let (before, now) = (keys(), Timestamp::ZERO + DAY);
        own(&before, 0..100, now);
        let after = StoredKeys::new(100, &[Quota::per_day(9)], Some(&before));
        assert_eq!(own(&after, 100..200, now), 0);
    }
}
