//! A log of events, in order, with four bytes for each.
//!
//! Time is counted in ticks. Only the newest event has its tick in full; the others have the low
//! half of theirs, and stand for the last tick before the newest that ends in these bits. That is
//! unambiguous as long as no event is older than 2³² ticks, which the owner of the log sees to.

use std::collections::VecDeque;

/// What a [`SlidingLog`](crate::SlidingLog) remembers of one key.
#[derive(Clone, Debug, Default)]
pub struct TickLog {
    /// The tick of the newest event.
    newest: u64,
    /// Events before this tick were pushed out by newer ones; 0 if none was.
    pushed_out_before: u64,
    events: VecDeque<u32>,
}

impl TickLog {
    /// Adds `count` events at `tick`, or at the newest if that is later. If more than `limit`
    /// remain, the oldest are pushed out.
    pub(super) fn push(&mut self, tick: u64, count: u64, limit: usize) {
        let tick = tick.max(self.newest);
        let added = usize::try_from(count).map_or(limit, |count| count.min(limit));
        let excess = (self.len() + added).saturating_sub(limit);
        if count > added as u64 {
            self.pushed_out_before = tick.saturating_add(1);
        } else if excess > 0 {
            self.pushed_out_before = self.tick(excess - 1).saturating_add(1);
        }
        self.events.drain(..excess);
        self.reserve(added, limit);
        self.newest = tick;
        self.events.resize(self.len() + added, low_half(tick));
    }

    /// Removes up to `count` of the events at `tick`.
    ///
    /// The places of those that were pushed out, and would not have been without these, are taken
    /// by as many events at the latest tick that they can have had, if that is `since` or later.
    pub(super) fn remove(&mut self, tick: u64, count: u64, since: u64) {
        let at = self.count_before(tick)..self.count_before(tick.saturating_add(1));
        let count = usize::try_from(count).map_or(at.len(), |count| count.min(at.len()));
        self.events.drain(at.start..at.start + count);
        if self.pushed_out_before > since {
            let stand_in = low_half(self.pushed_out_before - 1);
            (0..count).for_each(|_| self.events.push_front(stand_in));
        }
        match self.len().checked_sub(1) {
            Some(last) => self.newest = self.tick(last),
            None => *self = Self::default(),
        }
    }

    /// Drops all events before `tick`; with the last of them the memory is released.
    pub(super) fn drop_before(&mut self, tick: u64) {
        if self.newest < tick {
            *self = Self::default();
        } else {
            self.events.drain(..self.count_before(tick));
        }
    }

    /// How many events there are.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// The tick of the newest event; 0 if there is none.
    pub(super) const fn newest(&self) -> u64 {
        self.newest
    }

    /// The tick of the event in this place, counted from the oldest.
    pub(super) fn tick(&self, index: usize) -> u64 {
        self.in_full(self.events[index])
    }

    /// The ticks of all events, from the oldest.
    pub(super) fn ticks(&self) -> impl Iterator<Item = u64> {
        self.events.iter().map(|&event| self.in_full(event))
    }

    /// How many events lie before `tick`. O(log n).
    pub(super) fn count_before(&self, tick: u64) -> usize {
        self.events.partition_point(|&event| self.in_full(event) < tick)
    }

    /// Makes room for so many more events, in steps that double, and never for more than `limit`.
    fn reserve(&mut self, added: usize, limit: usize) {
        let needed = self.len() + added;
        if needed > self.events.capacity() {
            let capacity = needed.max(2 * self.events.capacity()).min(limit);
            self.events.reserve_exact(capacity - self.len());
        }
    }

    fn in_full(&self, event: u32) -> u64 {
        self.newest - u64::from(low_half(self.newest).wrapping_sub(event))
    }
}

fn low_half(tick: u64) -> u32 {
    let [a, b, c, d, ..] = tick.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;
