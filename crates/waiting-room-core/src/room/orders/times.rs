//! The times at which the visitors in a section go away.

use crate::{
    Timestamp,
    room::work::{Sizes, count_steps},
};

/// A collection of times that counts how many of them are after a given time. It may contain
/// duplicates.
///
/// Changes are collected in two short lists, which are merged into the long list when either of
/// them is full. Most changes therefore move no more than a few hundred entries, and only one
/// change in a few hundred rewrites the long list. A count needs one binary search in each of the
/// three lists.
///
/// ```text
///  sorted    1 3 3 4 7 9 9 …  thousands
///  added     8 9              at most `Sizes::changes`
///  removed   3                at most `Sizes::changes`
/// ```
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    sorted: Vec<Timestamp>,
    /// Times that have yet to be added to `sorted`. Also sorted.
    added: Vec<Timestamp>,
    /// Times that have yet to be removed from `sorted` or `added`. Also sorted.
    removed: Vec<Timestamp>,
}

impl Times {
    /// Adds a time after `now`. Times up to `now` are no longer needed, and may be dropped.
    pub(super) fn add(&mut self, time: Timestamp, now: Timestamp) {
        insert(&mut self.added, time);
        self.merge_if_full(now);
    }

    /// Removes one of the times after `now`.
    pub(super) fn remove(&mut self, time: Timestamp, now: Timestamp) {
        insert(&mut self.removed, time);
        self.merge_if_full(now);
    }

    /// Returns how many of the times are after `now`, and a time until which this count does not
    /// change unless times are added or removed.
    pub(super) fn later_than(&self, now: Timestamp) -> (u32, Timestamp) {
        let lists = [&self.sorted, &self.added, &self.removed];
        let [sorted, added, removed] =
            lists.map(|list| &list[list.partition_point(|t| *t <= now)..]);
        let count = (sorted.len() + added.len()).saturating_sub(removed.len());
        let next = [sorted, added].into_iter().filter_map(|list| list.first()).min();
        count_steps(lists.map(|list| bits(list.len())).iter().sum());
        (u32::try_from(count).unwrap_or(u32::MAX), next.copied().unwrap_or(Timestamp::MAX))
    }

    fn merge_if_full(&mut self, now: Timestamp) {
        if self.added.len().max(self.removed.len()) < Sizes::current().changes {
            return;
        }
        let is_later = |time: &&Timestamp| **time > now;
        let mut sorted = self.sorted.iter().filter(is_later).peekable();
        let mut added = self.added.iter().filter(is_later).peekable();
        let mut removed = self.removed.iter().filter(is_later).peekable();
        let mut merged = Vec::with_capacity(self.sorted.len() + self.added.len());
        loop {
            let time = match (sorted.peek(), added.peek()) {
                (Some(left), Some(right)) if right < left => added.next(),
                (Some(_), _) => sorted.next(),
                (None, _) => added.next(),
            };
            let Some(time) = time else { break };
            if removed.next_if_eq(&time).is_none() {
                merged.push(*time);
            }
        }
        count_steps(self.sorted.len() + self.added.len());
        *self = Self { sorted: merged, ..Self::default() };
    }
}

impl FromIterator<Timestamp> for Times {
    fn from_iter<I: IntoIterator<Item = Timestamp>>(times: I) -> Self {
        let mut sorted: Vec<_> = times.into_iter().collect();
        count_steps(sorted.len());
        sorted.sort_unstable();
        Self { sorted, ..Self::default() }
    }
}

/// Inserts a time into a short sorted list.
fn insert(list: &mut Vec<Timestamp>, time: Timestamp) {
    let index = list.partition_point(|other| *other <= time);
    list.insert(index, time);
}

/// Returns the number of steps of a binary search in a list of this length.
const fn bits(len: usize) -> usize {
    (usize::BITS - len.leading_zeros()) as usize
}
