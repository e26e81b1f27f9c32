//! Hash maps that grow a little at a time.

use std::{
    collections::{HashMap, hash_map},
    hash::{BuildHasher, Hash},
    mem,
};

use ahash::RandomState;

use crate::room::work::{Sizes, count_steps};

/// A hash map that consists of shards and grows by splitting one shard at a time (linear hashing,
/// Litwin 1980).
///
/// A single large map doubles all at once, which takes tens of milliseconds for a million visitors.
/// Here, the number of shards grows with the number of entries, so each shard stays small, and so
/// does the number of entries that are moved at once.
///
/// ```text
///  shard     0     1     2     3     4     5        six shards: 0 and 1 have been split into
///  hashes   ·000  ·001  ··10  ··11  ·100  ·101      0 and 4, and 1 and 5; 2 is next
/// ```
#[derive(Clone, Debug)]
pub(super) struct Shards<K, V> {
    shards: Vec<HashMap<K, V, RandomState>>,
    hasher: RandomState,
    len: usize,
}

impl<K: Copy + Eq + Hash, V> Shards<K, V> {
    /// The position of the lowest hash bit that is used to select a shard. The maps inside the
    /// shards use the lowest and the highest bits.
    const SHIFT: u32 = 24;

    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let old = self.shard_mut(&key).insert(key, value);
        if old.is_none() {
            self.len += 1;
            if self.len > self.shards.len() * Sizes::current().shard {
                self.split();
            }
        }
        old
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let old = self.shard_mut(key).remove(key);
        self.len -= usize::from(old.is_some());
        old
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.shards[self.index(key)].get(key)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.shard_mut(key).get_mut(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flatten()
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Splits the next shard in two.
    fn split(&mut self) {
        let upper = self.shards.len();
        // The index of the new shard without its highest bit.
        let lower = upper - (1 << upper.ilog2());
        self.shards.push(HashMap::with_hasher(self.hasher.clone()));
        let entries =
            mem::replace(&mut self.shards[lower], HashMap::with_hasher(self.hasher.clone()));
        count_steps(entries.len());
        self.shards[lower].reserve(entries.len() / 2);
        self.shards[upper].reserve(entries.len() / 2);
        for (key, value) in entries {
            self.shard_mut(&key).insert(key, value);
        }
    }

    fn shard_mut(&mut self, key: &K) -> &mut HashMap<K, V, RandomState> {
        let index = self.index(key);
        &mut self.shards[index]
    }

    fn index(&self, key: &K) -> usize {
        let hash = self.hasher.hash_one(key) >> Self::SHIFT;
        // The index consists of all bits in the mask, or of all but the highest bit if that shard
        // does not exist yet.
        let mask = self.shards.len().next_power_of_two() - 1;
        let index = usize::try_from(hash).unwrap_or(usize::MAX) & mask;
        if index < self.shards.len() { index } else { index & (mask >> 1) }
    }
}

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        // The seeds come from the standard library's random state, which differs in each process.
        let seeds = hash_map::RandomState::new();
        let [a, b, c, d] = [0, 1, 2, 3].map(|number| seeds.hash_one(number));
        let hasher = RandomState::with_seeds(a, b, c, d);
        Self { shards: vec![HashMap::with_hasher(hasher.clone())], hasher, len: 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::room::work::steps_of;

    proptest! {
        #[test]
        fn shards_agree_with_one_map(
            steps in prop::collection::vec((0u8..4, 0u32..500), 1..1_500),
        ) {
            let mut shards = Shards::default();
            let mut naive = HashMap::new();
            let mut most = 0;
            for (value, (verb, key)) in steps.into_iter().enumerate() {
                match verb {
                    0 | 1 => prop_assert_eq!(shards.insert(key, value), naive.insert(key, value)),
                    2 => prop_assert_eq!(shards.remove(&key), naive.remove(&key)),
                    _ => {
                        if let Some(found) = shards.get_mut(&key) {
                            *found += 1;
                        }
                        naive.entry(key).and_modify(|found| *found += 1);
                    }
                }
                prop_assert_eq!(shards.get(&key), naive.get(&key));
                most = most.max(naive.len());
            }
            prop_assert_eq!(shards.len(), naive.len());
            let most = most.div_ceil(Sizes::current().shard);
            prop_assert_eq!(shards.shards.len(), most.max(1));
            let found: HashMap<_, _> = shards.iter().map(|(key, value)| (*key, *value)).collect();
            prop_assert_eq!(found, naive);
        }
    }

    #[test]
    fn no_insertion_moves_more_than_a_few_thousand_entries() {
        Sizes::use_usual();
        let mut shards = Shards::default();
        for key in 0..300_000_u32 {
            let steps = steps_of(|| shards.insert(key, ())).1;
            assert!(steps <= 4 * Sizes::current().shard, "{steps} steps with {key} entries");
        }
        let largest = shards.shards.iter().map(HashMap::len).max().unwrap();
        assert!(largest <= 4 * Sizes::current().shard, "a shard of {largest}");
    }
}
