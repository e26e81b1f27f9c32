//! The orders in which visitors are stored: by rank, with a count of the present visitors, and by
//! deadline.

use std::collections::BTreeSet;

use crate::{Timestamp, VisitorId};

/// The rank of a visitor in the line, where lower ranks go first and the id breaks ties.
pub(super) type Rank = (u64, VisitorId);

/// A sorted collection of ranks, each present or away, which can count the present ranks before a
/// given rank.
///
/// The ranks are stored in sorted chunks of a few hundred ranks, each with a count of its present
/// ranks. A query adds up the counts of the preceding chunks and walks one chunk. A change moves
/// entries within one chunk. For a hundred thousand ranks, queries and changes access only a few
/// kilobytes of contiguous memory. In a balanced tree, queries and changes would access nodes that
/// are scattered in memory.
///
/// ```text
///  chunks   [ o · o o ] [ · · o ] [ o o o · ] [ o ]      o present, · away
///  present        3         1          3        1
/// ```
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    /// The ranks, each with a flag for whether it is present, sorted within and across chunks. No
    /// chunk is empty.
    chunks: Vec<Vec<(Rank, bool)>>,
    /// The number of present ranks in each chunk.
    present: Vec<u32>,
    /// The number of ranks in all chunks.
    len: usize,
}

/// The deadlines of visitors, at most one per visitor, with the earliest deadline first.
///
/// The caller remembers the time of each deadline, and has to pass that time to cancel the
/// deadline.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(Timestamp, VisitorId)>);

impl Ranks {
    /// The maximum number of ranks in a chunk. A chunk that grows beyond this size is split in two.
    /// The maximum is small in tests, so that a few ranks fill many chunks.
    const CHUNK: usize = if cfg!(test) { 16 } else { 512 };

    /// Adds a rank that is not in the collection yet.
    pub(super) fn insert(&mut self, rank: Rank, present: bool) {
        if self.chunks.is_empty() {
            self.chunks.push(Vec::with_capacity(Self::CHUNK));
            self.present.push(0);
        }
        // A rank that comes after all others goes into the last chunk.
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

    /// Removes a rank, if the collection contains it.
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

    /// Marks a rank as present or away, if the collection contains it.
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

    /// Returns the number of present ranks before `rank`, which need not be in the collection
    /// itself.
    pub(super) fn present_before(&self, rank: Rank) -> u32 {
        let chunk = self.chunk_of(rank);
        let before: u32 = self.present[..chunk].iter().sum();
        let within = self.chunks.get(chunk).map_or(0, |entries| {
            count_present(&entries[..entries.partition_point(|(other, _)| *other < rank)])
        });
        before + within
    }

    /// Returns the number of present ranks.
    pub(super) fn present(&self) -> u32 {
        self.present.iter().sum()
    }

    /// Returns the first rank, whether it is present or away.
    pub(super) fn first(&self) -> Option<Rank> {
        self.chunks.first()?.first().map(|(rank, _)| *rank)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the index of the chunk that contains or would contain this rank. If the rank comes
    /// after all others, the returned index is the number of chunks.
    fn chunk_of(&self, rank: Rank) -> usize {
        self.chunks.partition_point(|entries| entries.last().is_some_and(|(last, _)| *last < rank))
    }

    /// Returns the index of the chunk that contains `rank` and the index of `rank` in that chunk,
    /// if the collection contains `rank`.
    fn find(&self, rank: Rank) -> Option<(usize, usize)> {
        let chunk = self.chunk_of(rank);
        let index = self.chunks.get(chunk)?.binary_search_by_key(&rank, |(rank, _)| *rank).ok()?;
        Some((chunk, index))
    }
}

impl Deadlines {
    /// Sets the deadline of a visitor that has none.
    pub(super) fn set(&mut self, at: Timestamp, id: VisitorId) {
        self.0.insert((at, id));
    }

    /// Cancels the deadline of a visitor, which was set for `at`.
    pub(super) fn cancel(&mut self, at: Timestamp, id: VisitorId) {
        self.0.remove(&(at, id));
    }

    /// Removes and returns the visitor with the earliest deadline, if that deadline has come.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<VisitorId> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.pop_first()
    }

    /// Removes and returns the visitor with the earliest deadline, whether it is due or not.
    pub(super) fn pop_first(&mut self) -> Option<VisitorId> {
        self.0.pop_first().map(|(_, id)| id)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns the number of present ranks among these entries.
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
