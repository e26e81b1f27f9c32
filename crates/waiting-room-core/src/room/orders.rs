//! The orders that visitors are kept in: by rank, with a count of those present, and by deadline.

use std::collections::BTreeSet;

use crate::{Timestamp, VisitorId};

/// The place of a visitor in the order: lower goes first. The id breaks ties.
pub(super) type Rank = (u64, VisitorId);

/// Ranks in order, each present or away: how many of the present stand before a given rank?
///
/// The ranks lie sorted in chunks of a few hundred, each with the number of present among them. A
/// question adds the counts of the chunks before and walks one chunk; a change moves within one
/// chunk. For a hundred thousand ranks both touch a few kilobytes that lie side by side, which a
/// balanced tree of nodes does not.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    chunks: Vec<Vec<(Rank, bool)>>,
    present: Vec<u32>,
    len: usize,
}

/// One deadline for each of many visitors, soonest first. The owner remembers which, to move or to cancel it.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(Timestamp, VisitorId)>);

impl Ranks {
    /// A chunk that grows over this is split in two.
    const CHUNK: usize = if cfg!(test) { 16 } else { 512 };

    /// Adds a rank that is not in the set.
    pub(super) fn insert(&mut self, rank: Rank, present: bool) {
        if self.chunks.is_empty() {
            self.chunks.push(Vec::with_capacity(Self::CHUNK));
            self.present.push(0);
        }
        let chunk = self.chunk_of(rank).min(self.chunks.len() - 1);
        let entries = &mut self.chunks[chunk];
        let index = entries.partition_point(|(other, _)| *other < rank);
        entries.insert(index, (rank, present));
        self.present[chunk] += u32::from(present);
        self.len += 1;
        if entries.len() > Self::CHUNK {
            let upper = entries.split_off(Self::CHUNK / 2);
            let moved = count_present(&upper);
            self.present[chunk] -= moved;
            self.chunks.insert(chunk + 1, upper);
            self.present.insert(chunk + 1, moved);
        }
    }

    /// Removes a rank, if it is there.
    pub(super) fn remove(&mut self, rank: Rank) {
        let Some((chunk, index)) = self.find(rank) else {
            return;
        };
        let (_, present) = self.chunks[chunk].remove(index);
        self.present[chunk] -= u32::from(present);
        self.len -= 1;
        if self.chunks[chunk].is_empty() {
            self.chunks.remove(chunk);
            self.present.remove(chunk);
        }
    }

    /// Marks a rank that is in the set as present or away.
    pub(super) fn mark(&mut self, rank: Rank, present: bool) {
        let Some((chunk, index)) = self.find(rank) else {
            return;
        };
        let entry = &mut self.chunks[chunk][index].1;
        if *entry != present {
            *entry = present;
            if present {
                self.present[chunk] += 1;
            } else {
                self.present[chunk] -= 1;
            }
        }
    }

    /// How many present ranks come before this one, which need not be in the set.
    pub(super) fn present_before(&self, rank: Rank) -> u32 {
        let chunk = self.chunk_of(rank);
        let before: u32 = self.present[..chunk].iter().sum();
        let within = self.chunks.get(chunk).map_or(0, |entries| {
            count_present(&entries[..entries.partition_point(|(other, _)| *other < rank)])
        });
        before + within
    }

    /// How many ranks are present.
    pub(super) fn present(&self) -> u32 {
        self.present.iter().sum()
    }

    /// The first rank, present or away.
    pub(super) fn first(&self) -> Option<Rank> {
        self.chunks.first()?.first().map(|(rank, _)| *rank)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The chunk in which this rank is or would be; the number of chunks if it comes after all.
    fn chunk_of(&self, rank: Rank) -> usize {
        self.chunks.partition_point(|entries| entries.last().is_some_and(|(last, _)| *last < rank))
    }

    fn find(&self, rank: Rank) -> Option<(usize, usize)> {
        let chunk = self.chunk_of(rank);
        let index = self.chunks.get(chunk)?.binary_search_by_key(&rank, |(rank, _)| *rank).ok()?;
        Some((chunk, index))
    }
}

impl Deadlines {
    /// Sets a deadline for a visitor who has none.
    pub(super) fn set(&mut self, at: Timestamp, id: VisitorId) {
        self.0.insert((at, id));
    }

    /// Cancels the deadline that was set for `at`.
    pub(super) fn cancel(&mut self, at: Timestamp, id: VisitorId) {
        self.0.remove(&(at, id));
    }

    /// Takes a visitor whose deadline has come, the one that is longest past first.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<VisitorId> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.pop_first()
    }

    /// Takes the visitor with the soonest deadline, due or not.
    pub(super) fn pop_first(&mut self) -> Option<VisitorId> {
        self.0.pop_first().map(|(_, id)| id)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

fn count_present(entries: &[(Rank, bool)]) -> u32 {
    entries.iter().map(|(_, present)| u32::from(*present)).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_agree_with_a_sorted_map(
            steps in prop::collection::vec((0u8..4, 0u64..1_600, any::<bool>()), 1..1_500),
        ) {
            let mut ranks = Ranks::default();
            let mut naive = BTreeMap::new();
            for (verb, at, present) in steps {
                let rank = (at / 2, VisitorId::new(u128::from(at)));
                match verb {
                    0 | 1 if !naive.contains_key(&rank) => {
                        ranks.insert(rank, present);
                        naive.insert(rank, present);
                    }
                    2 => {
                        ranks.remove(rank);
                        naive.remove(&rank);
                    }
                    _ => {
                        ranks.mark(rank, present);
                        naive.entry(rank).and_modify(|entry| *entry = present);
                    }
                }
                let before = naive.range(..rank).filter(|(_, present)| **present).count();
                prop_assert_eq!(ranks.present_before(rank) as usize, before);
            }
            prop_assert_eq!(ranks.len(), naive.len());
            prop_assert_eq!(ranks.first(), naive.keys().next().copied());
            prop_assert_eq!(
                ranks.present() as usize,
                naive.values().filter(|present| **present).count()
            );
        }
    }

    #[test]
    fn chunks_split_and_disappear() {
        let mut ranks = Ranks::default();
        let rank = |at| (at, VisitorId::new(0));
        (0..10_000).for_each(|at| ranks.insert(rank(at), at % 2 == 0));
        assert!(ranks.chunks.len() >= 10_000 / Ranks::CHUNK);
        assert_eq!(ranks.present_before(rank(5_000)), 2_500);
        assert_eq!(ranks.present_before(rank(u64::MAX)), 5_000);
        (0..10_000).for_each(|at| ranks.remove(rank(at)));
        assert!(ranks.chunks.is_empty() && ranks.present.is_empty());
    }
}
