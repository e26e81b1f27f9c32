//! A log of events in chronological order, with eight bytes for each run of events at the same
//! time.
//!
//! Time is counted in ticks. All events of one tick form a run, so a cost of a million uses no more
//! memory than a cost of one. The log stores the newest tick in full, but only the low 32 bits of
//! each run's tick. The 32 bits represent the latest tick that ends in these bits and is not after
//! the newest tick. This representation is unambiguous as long as every event is less than 2³²
//! ticks older than the newest event, which the owner of the log ensures.
//!
//! ```text
//!  before = 7     run             run             run
//!              ┌──────┬───────┬──────┬───────┬──────┬───────┐
//!              │ tick │  8    │ tick │  11   │ tick │  12   │   totals, up to the end of a run
//!              └──────┴───────┴──────┴───────┴──────┴───────┘
//!                 1 event        3 events        1 event
//! ```
//!
//! A run also stores the total number of events up to its end, so the run of the n-th event is
//! found by binary search. The Redis script for this log stores the same runs.

use std::collections::VecDeque;

/// The state of one key of a [`SlidingLog`](super::SlidingLog).
#[derive(Clone, Debug, Default)]
pub struct TickLog {
    /// The tick of the newest event, or 0 if there is none.
    newest: u64,
    /// The tick after the tick of the last event that newer events have pushed out, or 0 if no
    /// event was pushed out.
    pushed_out_before: u64,
    /// The number of events before the first run, modulo 2³².
    before: u32,
    /// The runs, oldest first. Each run has at least one event, and no two runs have the same tick.
    runs: VecDeque<Run>,
}

/// All events of one tick.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The low 32 bits of the tick.
    tick: u32,
    /// The number of events up to the end of this run, modulo 2³². Only differences between totals
    /// are used, and a log has fewer than 2³² events, so a total may wrap around without harm.
    total: u32,
}

impl TickLog {
    /// The memory of one run, in bytes.
    pub(super) const BYTES_PER_RUN: usize = size_of::<Run>();

    /// Adds `count` events at `tick`, or at the newest tick if that is later.
    ///
    /// The log keeps the newest `limit` events, and pushes out older events. If `count` exceeds the
    /// limit, the log also pushes out the excess.
    pub(super) fn push(&mut self, tick: u64, count: u64, limit: u32) {
        if count == 0 {
            return;
        }
        let tick = tick.max(self.newest);
        let added = u32::try_from(count).map_or(limit, |count| count.min(limit));
        let excess = (u64::from(self.len()) + u64::from(added)).saturating_sub(limit.into());
        let excess = u32::try_from(excess).unwrap_or(u32::MAX);
        if count > added.into() {
            self.pushed_out_before = tick.saturating_add(1);
        } else if excess > 0 {
            self.pushed_out_before = self.tick(excess - 1).saturating_add(1);
        }
        self.push_out(excess);
        if added > 0 {
            self.append(tick, added, limit);
        }
        self.newest = tick;
    }

    /// Removes up to `count` of the events at `tick`.
    ///
    /// If the log was full, the removed events may have pushed out older events that would
    /// otherwise still count. The log has lost the exact ticks of the older events. Instead, the
    /// log adds the same number of events at the latest tick that the older events can have had, so
    /// it never allows too much. If this tick is before `since`, no events are added.
    pub(super) fn remove(&mut self, tick: u64, count: u64, since: u64, limit: u32) {
        let index = self.runs_before(tick);
        let found = self.runs.get(index).filter(|run| self.in_full(run.tick) == tick);
        let events = found.map_or(0, |run| run.total.wrapping_sub(self.total_before(index)));
        let count = u32::try_from(count).map_or(events, |count| count.min(events));
        if count > 0 {
            self.take(index, count);
            if self.pushed_out_before > since {
                self.stand_in(count, limit);
            }
        }
        match self.runs.back() {
            Some(last) => self.newest = self.in_full(last.tick),
            None => *self = Self::default(),
        }
    }

    /// Removes all events before `tick`. The memory is released if no event remains.
    pub(super) fn drop_before(&mut self, tick: u64) {
        if self.newest < tick {
            *self = Self::default();
        } else {
            self.drop_runs(self.runs_before(tick));
        }
    }

    /// The number of events.
    pub(super) fn len(&self) -> u32 {
        self.runs.back().map_or(0, |last| last.total.wrapping_sub(self.before))
    }

    /// The tick of the newest event, or 0 if there is none.
    pub(super) const fn newest(&self) -> u64 {
        self.newest
    }

    /// The tick of the event at index `place`, where 0 is the oldest event. The lookup is O(log n),
    /// or O(1) if all events have different ticks.
    pub(super) fn tick(&self, place: u32) -> u64 {
        let index = if self.len() as usize == self.runs.len() {
            place as usize
        } else {
            self.runs_within(place)
        };
        self.in_full(self.runs[index].tick)
    }

    /// The ticks at which there are events, oldest first, each with the number of its events.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u32)> {
        let mut before = self.before;
        self.runs.iter().map(move |run| {
            let events = run.total.wrapping_sub(before);
            before = run.total;
            (self.in_full(run.tick), events)
        })
    }

    /// The number of events before `tick`, found in O(log n).
    pub(super) fn count_before(&self, tick: u64) -> u32 {
        self.total_before(self.runs_before(tick)).wrapping_sub(self.before)
    }

    /// The number of runs before `tick`.
    fn runs_before(&self, tick: u64) -> usize {
        self.runs.partition_point(|run| self.in_full(run.tick) < tick)
    }

    /// The number of runs that lie entirely within the first `events` events.
    fn runs_within(&self, events: u32) -> usize {
        self.runs.partition_point(|run| run.total.wrapping_sub(self.before) <= events)
    }

    /// The total number of events before the run at `index`. The index may be one past the last
    /// run.
    fn total_before(&self, index: usize) -> u32 {
        index.checked_sub(1).map_or(self.before, |last| self.runs[last].total)
    }

    /// Removes the oldest `events` events. If only a part of a run is removed, the rest of the run
    /// stays in the log.
    fn push_out(&mut self, events: u32) {
        let before = self.before.wrapping_add(events);
        self.drop_runs(self.runs_within(events));
        self.before = before;
    }

    /// Removes the oldest `runs` runs.
    fn drop_runs(&mut self, runs: usize) {
        self.before = self.total_before(runs);
        self.runs.drain(..runs);
    }

    /// Adds `added` events at `tick`, which is not before the newest tick.
    fn append(&mut self, tick: u64, added: u32, limit: u32) {
        match self.runs.back_mut() {
            Some(last) if tick == self.newest => last.total = last.total.wrapping_add(added),
            _ => {
                self.reserve(limit);
                let total = self.total_before(self.runs.len()).wrapping_add(added);
                self.runs.push_back(Run { tick: low_half(tick), total });
            }
        }
    }

    /// Removes `count` events from the run at `index`.
    ///
    /// The totals on one side of the run have to be corrected. Only the differences between totals
    /// matter, so the totals on the side with fewer runs are corrected.
    fn take(&mut self, index: usize, count: u32) {
        let is_used_up = self.runs[index].total.wrapping_sub(self.total_before(index)) == count;
        if index < self.runs.len() / 2 {
            self.before = self.before.wrapping_add(count);
            let older = self.runs.range_mut(..index);
            older.for_each(|run| run.total = run.total.wrapping_add(count));
        } else {
            let newer = self.runs.range_mut(index..);
            newer.for_each(|run| run.total = run.total.wrapping_sub(count));
        }
        if is_used_up {
            self.runs.remove(index);
        }
    }

    /// Adds `count` events before all other events, at the latest tick that the pushed-out events
    /// can have had.
    fn stand_in(&mut self, count: u32, limit: u32) {
        let tick = low_half(self.pushed_out_before - 1);
        if self.runs.front().is_none_or(|first| first.tick != tick) {
            self.reserve(limit);
            self.runs.push_front(Run { tick, total: self.before });
        }
        self.before = self.before.wrapping_sub(count);
    }

    /// Makes room for another run.
    ///
    /// The capacity doubles, as in a `Vec`, but never exceeds `limit`, because the memory bound of
    /// a key relies on this maximum.
    fn reserve(&mut self, limit: u32) {
        let runs = self.runs.len();
        let capacity = self.runs.capacity();
        if runs == capacity {
            let capacity = (2 * capacity).min(limit as usize).max(runs + 1);
            self.runs.reserve_exact(capacity - runs);
        }
    }

    /// The latest tick that ends in these 32 bits and is not after the newest tick.
    fn in_full(&self, tick: u32) -> u64 {
        self.newest - u64::from(low_half(self.newest).wrapping_sub(tick))
    }
}

/// The low 32 bits of a tick.
fn low_half(tick: u64) -> u32 {
    let [a, b, c, d, ..] = tick.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;
