//! Summaries of the consecutive parts of an order: its chunks or its sections.

use super::rank::Rank;
use crate::{Timestamp, room::work::count_steps};

/// One summary for each part, in the order of the parts.
///
/// Each field of the summaries has its own list, so that a search or a sum reads contiguous memory.
#[derive(Clone, Debug)]
pub(super) struct Summaries {
    /// An upper bound on the ranks in each part. The bound is lower than all ranks in the next
    /// part.
    lasts: Vec<Rank>,
    /// The number of present ranks in each part.
    counts: Vec<u32>,
    /// The time until which the count of each part is valid.
    valid_until: Vec<Timestamp>,
    /// A lower bound on all times in `valid_until`.
    next: Timestamp,
}

impl Summaries {
    pub(super) const fn new() -> Self {
        Self {
            lasts: Vec::new(),
            counts: Vec::new(),
            valid_until: Vec::new(),
            next: Timestamp::MAX,
        }
    }

    /// Inserts the summary of a part.
    pub(super) fn insert(&mut self, part: usize, last: Rank, (count, valid): (u32, Timestamp)) {
        self.lasts.insert(part, last);
        self.counts.insert(part, count);
        self.valid_until.insert(part, valid);
        self.next = self.next.min(valid);
    }

    /// Replaces the count of a part.
    pub(super) fn set(&mut self, part: usize, (count, valid): (u32, Timestamp)) {
        self.counts[part] = count;
        self.valid_until[part] = valid;
        self.next = self.next.min(valid);
    }

    pub(super) fn set_last(&mut self, part: usize, last: Rank) {
        self.lasts[part] = last;
    }

    pub(super) fn remove(&mut self, part: usize) {
        self.lasts.remove(part);
        self.counts.remove(part);
        self.valid_until.remove(part);
    }

    /// Splits off the summaries from `part` on.
    pub(super) fn split_off(&mut self, part: usize) -> Self {
        Self {
            lasts: self.lasts.split_off(part),
            counts: self.counts.split_off(part),
            valid_until: self.valid_until.split_off(part),
            next: self.next,
        }
    }

    /// Appends the summaries of the following parts.
    pub(super) fn append(&mut self, mut other: Self) {
        self.lasts.append(&mut other.lasts);
        self.counts.append(&mut other.counts);
        self.valid_until.append(&mut other.valid_until);
        self.next = self.next.min(other.next);
    }

    /// Renews all counts that are no longer valid at `now`. `recount` returns the count of a part
    /// and the time until which that count is valid.
    pub(super) fn renew(
        &mut self,
        now: Timestamp,
        mut recount: impl FnMut(usize) -> (u32, Timestamp),
    ) {
        if self.next > now {
            return;
        }
        count_steps(self.counts.len());
        self.next = Timestamp::MAX;
        for part in 0..self.counts.len() {
            if self.valid_until[part] <= now {
                (self.counts[part], self.valid_until[part]) = recount(part);
            }
            self.next = self.next.min(self.valid_until[part]);
        }
    }

    /// Counts a rank that has been added to a part and is present until `until`.
    pub(super) fn add(&mut self, part: usize, until: Timestamp) {
        self.counts[part] += 1;
        self.valid_until[part] = self.valid_until[part].min(until);
        self.next = self.next.min(until);
    }

    /// Subtracts `number` present ranks from the count of a part.
    pub(super) fn subtract(&mut self, part: usize, number: u32) {
        self.counts[part] -= number;
    }

    /// Returns whether the count of a part is valid at `now`.
    pub(super) fn is_valid(&self, part: usize, now: Timestamp) -> bool {
        self.valid_until[part] > now
    }

    /// Returns the index of the part that contains or would contain a rank. If the rank comes after
    /// all parts, the index is the number of parts.
    pub(super) fn find(&self, rank: Rank) -> usize {
        self.lasts.partition_point(|last| *last < rank)
    }

    pub(super) fn last(&self, part: usize) -> Rank {
        self.lasts[part]
    }

    /// Returns the number of present ranks in all parts before this one.
    pub(super) fn sum_before(&self, part: usize) -> u32 {
        count_steps(part);
        self.counts[..part].iter().sum()
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }
}
