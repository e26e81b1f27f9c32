//! A bound on the number of keys that this node adds to a store for one limit.
//!
//! A limit that is tracked in this process keeps its state in a table of fixed size. A store has no
//! such table: each new key adds an entry, and a client that invents keys could fill the store.
//! Each node therefore remembers the keys that it has used, and counts all further keys under their
//! networks:
//!
//! ```text
//! key ─┬─ used lately, or before ───► the key itself
//!      ├─ new, and there is space ──► the key itself, remembered from now on
//!      └─ new, and there is none ───► one key for all new keys of its network
//! ```

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use waiting_room_core::{Quota, Timestamp, rate::KeyHash};

/// The keys of one limit that this node has used in a store, remembered for as long as the store
/// may retain them.
///
/// Once the maximum number of keys is reached, all new keys from the same network share one key, as
/// in the table of a limit that this process counts. Networks are divided into groups, each with
/// one shared key, and the number of groups is an eighth of this maximum. For each node, the store
/// therefore contains at most the maximum number of keys. The shared keys of networks add at most
/// an eighth of the maximum in total, because they are the same for all nodes.
#[derive(Clone, Debug)]
pub(super) struct StoredKeys {
    /// The maximum number of keys that are counted individually.
    most: usize,
    /// The time after which the store has forgotten an unused key.
    kept_for: Duration,
    /// The keys in use, shared with any limit that replaces this limit.
    used: Arc<UsedKeys>,
}

/// The keys in use, and the number of requests whose keys did not fit.
#[derive(Debug, Default)]
struct UsedKeys {
    sets: Mutex<Sets>,
    /// The number of requests that were counted under the network of their key.
    displaced: AtomicU64,
}

/// The keys in use, in two generations.
///
/// With generations, the keys do not need individual timestamps. A key that is used moves to the
/// current generation. Once the current generation is `kept_for` old, it replaces the earlier
/// generation, whose remaining keys are forgotten. A key is therefore remembered for at least
/// `kept_for` after its last use.
///
/// No key is in both generations.
#[derive(Debug, Default)]
struct Sets {
    /// The keys of the current generation, which began at `since`.
    lately: HashSet<u64>,
    /// The keys that have not been used since the earlier generation ended.
    before: HashSet<u64>,
    /// The time at which the current generation began.
    since: Timestamp,
}

impl StoredKeys {
    /// Creates the bound for a limit with these quotas. The bound takes over the keys of `before`,
    /// the bound of the limit that is replaced.
    pub(super) fn new(most: usize, quotas: &[Quota], before: Option<&Self>) -> Self {
        let longest = quotas.iter().map(Quota::replenished_in).max().unwrap_or_default();
        let used = before.map(|before| Arc::clone(&before.used)).unwrap_or_default();
        // Keys are kept for twice the window, because a sliding counter also takes the previous
        // window into account.
        Self { most, kept_for: longest.saturating_mul(2), used }
    }

    /// Returns the key under which the store counts `key`: either the key itself, or a key for its
    /// network.
    pub(super) fn of(&self, key: KeyHash, now: Timestamp) -> KeyHash {
        let mut sets = self.used.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let age = now.since(sets.since);
        if age >= self.kept_for {
            let lately = std::mem::take(&mut sets.lately);
            // After a long time without requests, even the current generation is too old to be
            // retained.
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

    /// Returns the number of requests that were counted under the network of their key.
    pub(super) fn displaced(&self) -> u64 {
        self.used.displaced.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_core::rate::KeyHasher;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// Returns the bound of a daily limit that remembers 100 keys.
    fn keys() -> StoredKeys {
        StoredKeys::new(100, &[Quota::per_day(5)], None)
    }

    fn key(number: u32) -> KeyHash {
        KeyHasher::new([3, 1, 4, 1]).hash(&number)
    }

    /// Returns how many of these keys the store counts individually.
    fn own(keys: &StoredKeys, numbers: std::ops::Range<u32>, now: Timestamp) -> usize {
        numbers.filter(|number| keys.of(key(*number), now) == key(*number)).count()
    }

    #[test]
    fn the_store_sees_only_as_many_keys_as_the_limit_remembers() {
        let keys = keys();
        let now = Timestamp::ZERO + DAY;
        assert_eq!(own(&keys, 0..1_000, now), 100);
        assert_eq!(keys.displaced(), 900);
        // A key with a place keeps its place, and a key without a place gets none while all places
        // are in use.
        assert_eq!(own(&keys, 0..100, now), 100);
        assert_eq!(own(&keys, 100..1_000, now), 0);
    }

    #[test]
    fn new_keys_of_a_full_limit_share_the_key_of_their_network() {
        let keys = keys();
        let now = Timestamp::ZERO + DAY;
        own(&keys, 0..100, now);
        let network = |number: u32| key(1_000_000 + number);
        let of = |number, net| keys.of(key(number).of_network(network(net)), now);
        assert_eq!(of(200, 1), of(201, 1));
        assert_ne!(of(200, 1), key(200));
        let networks: HashSet<u64> = (0..1_000).map(|net| of(200, net).as_u64()).collect();
        assert_eq!(networks.len(), 12, "one network for every eight keys");
    }

    #[test]
    fn a_used_key_keeps_its_place_and_an_idle_key_loses_it() {
        let keys = keys();
        let start = Timestamp::ZERO + DAY;
        own(&keys, 0..100, start);
        // The store may retain a key for two days after its last use, and the node forgets the key
        // up to two days later.
        assert_eq!(own(&keys, 0..10, start + DAY * 2), 10);
        assert_eq!(own(&keys, 100..200, start + DAY * 2), 0);
        assert_eq!(own(&keys, 0..10, start + DAY * 4), 10);
        assert_eq!(own(&keys, 100..200, start + DAY * 4), 90);
    }

    #[test]
    fn after_a_long_silence_all_places_are_free() {
        let keys = keys();
        let start = Timestamp::ZERO + DAY;
        own(&keys, 0..100, start);
        assert_eq!(own(&keys, 200..300, start + DAY * 4), 100);
    }

    #[test]
    fn a_replacement_limit_inherits_the_keys() {
        let before = keys();
        let now = Timestamp::ZERO + DAY;
        own(&before, 0..100, now);
        let after = StoredKeys::new(100, &[Quota::per_day(9)], Some(&before));
        assert_eq!(own(&after, 100..200, now), 0);
    }
}
