//! An exact sliding log of a room's new visitors. The log never allows more events than a given
//! limit within *any* window.
//!
//! The log stores the times of the events that it allowed, oldest first. To decide whether one more
//! event is allowed, it reads a single entry, the one `limit` places from the end. If that entry
//! has left the window, so have all older entries. The check is O(1) for any limit. Recording
//! removes at most two lapsed entries, so it is O(1) as well. The log stores one timestamp per
//! event in the window, in blocks of a fixed size, so the log is never copied as a whole when it
//! grows.
//!
//! ```text
//!        ├──────── window ────────┤ now
//!   │   ││   │       │    │  │    ┆
//!       ▲ with a limit of 6, one more is allowed once this event has left the window
//! ```
//!
//! A window is half open, `(t, t + window]`: an event that is exactly one window old is outside.
//!
//! In contrast to a [`SlidingLog`](super::SlidingLog), this log takes the limit as an argument,
//! because the limit of a room can change and slots can be reserved.

use std::{collections::VecDeque, time::Duration};

use crate::Timestamp;

/// The times of recent events, for a limit that is exact in any window.
#[derive(Clone, Debug)]
pub(crate) struct EventLog {
    window: Duration,
    events: EventBlocks,
}

/// A queue of timestamps, in blocks that are all full except possibly the first and the last.
#[derive(Clone, Debug, Default)]
struct EventBlocks {
    /// Each block has room for [`SIZE`](Self::SIZE) timestamps. No block is empty.
    blocks: VecDeque<Vec<Timestamp>>,
    /// The number of timestamps that have been removed from the first block.
    removed: usize,
    len: usize,
}

impl EventLog {
    /// Creates an empty log for windows of this length.
    pub(crate) const fn new(window: Duration) -> Self {
        Self { window, events: EventBlocks { blocks: VecDeque::new(), removed: 0, len: 0 } }
    }

    /// Records an event at `now`, or at the time of the last event if that is later.
    pub(crate) fn record(&mut self, now: Timestamp) {
        let now = self.events.back().map_or(now, |last| last.max(now));
        // Two removals per event are enough: the log shrinks after a busy period, and no single
        // call has to remove all lapsed entries.
        for _ in 0..2 {
            if self.events.len > 0 && self.is_outside(self.events.at(0), now) {
                self.events.remove_first();
            }
        }
        self.events.push(now);
    }

    /// The earliest time at which one more event conforms to `limit`, if `reserved` other events
    /// come first. [`Timestamp::ZERO`] means "at once", and [`Timestamp::MAX`] means "never".
    pub(crate) fn conforms_at(&self, limit: u32, reserved: u32) -> Timestamp {
        let Some(places) = limit.checked_sub(reserved).filter(|&places| places > 0) else {
            return Timestamp::MAX;
        };
        let places = places as usize;
        match self.events.len.checked_sub(places) {
            None => Timestamp::ZERO,
            Some(index) => self.events.at(index) + self.window,
        }
    }

    /// Returns whether one more event at `now` conforms to `limit`, if `reserved` other events come
    /// first.
    pub(crate) fn conforms(&self, limit: u32, reserved: u32, now: Timestamp) -> bool {
        self.conforms_at(limit, reserved) <= now
    }

    /// The number of events in the window that ends at `now`, found in O(log n).
    pub(crate) fn count(&self, now: Timestamp) -> usize {
        let mut inside = self.events.len;
        let mut outside = 0;
        while outside < inside {
            let middle = outside.midpoint(inside);
            if self.is_outside(self.events.at(middle), now) {
                outside = middle + 1
            } else {
                inside = middle
            }
        }
        self.events.len - outside
    }

    fn is_outside(&self, event: Timestamp, now: Timestamp) -> bool {
        event + self.window <= now
    }
}

impl EventBlocks {
    /// The maximum number of timestamps in a block.
    const SIZE: usize = if cfg!(test) { 8 } else { 1_024 };

    fn push(&mut self, time: Timestamp) {
        match self.blocks.back_mut().filter(|block| block.len() < Self::SIZE) {
            Some(block) => block.push(time),
            None => {
                let mut block = Vec::with_capacity(Self::SIZE);
                block.push(time);
                self.blocks.push_back(block);
            }
        }
        self.len += 1;
    }

    /// Removes the first timestamp, which must exist.
    fn remove_first(&mut self) {
        self.len -= 1;
        self.removed += 1;
        if self.removed == Self::SIZE || self.len == 0 {
            self.blocks.pop_front();
            self.removed = 0;
        }
    }

    /// Returns the timestamp at `index`, which must exist.
    fn at(&self, index: usize) -> Timestamp {
        let index = self.removed + index;
        self.blocks[index / Self::SIZE][index % Self::SIZE]
    }

    fn back(&self) -> Option<Timestamp> {
        self.blocks.back().and_then(|block| block.last()).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(60);

    /// Counts the events in the window by visiting all events that ever happened.
    fn naive_count(events: &[Timestamp], now: Timestamp) -> usize {
        events.iter().filter(|&&event| event <= now && now.since(event) < WINDOW).count()
    }

    #[test]
    fn with_a_limit_of_two_the_third_waits_until_the_first_has_left_the_window() {
        let mut log = EventLog::new(WINDOW);
        let start = Timestamp::from_secs(0);
        let now = start + Duration::from_secs(59);
        log.record(start);
        log.record(now);
        assert_eq!(log.conforms_at(2, 0), start + WINDOW);
        assert!(!log.conforms(2, 0, now));
        assert!(log.conforms(2, 0, now + Duration::from_secs(1)));
    }

    proptest! {
        #[test]
        fn the_log_agrees_with_counting_by_hand(
            steps in prop::collection::vec((0u64..20_000_000_000, 1u32..8, 0u32..4), 1..300),
        ) {
            let mut log = EventLog::new(WINDOW);
            let mut allowed = Vec::new();
            let mut now = Timestamp::from_secs(1_000);
            for (step, limit, reserved) in steps {
                now = now + Duration::from_nanos(step);
                let count = naive_count(&allowed, now);
                prop_assert_eq!(log.count(now), count);
                let expected = count + (reserved as usize) < limit as usize;
                prop_assert_eq!(log.conforms(limit, reserved, now), expected);
                if expected && reserved == 0 {
                    log.record(now);
                    allowed.push(now);
                }
            }
        }

        #[test]
        fn waiting_the_stated_time_suffices_and_a_nanosecond_less_does_not(
            gaps in prop::collection::vec(0u64..30_000_000_000, 1..100),
            limit in 1u32..20,
        ) {
            let mut log = EventLog::new(WINDOW);
            let mut now = Timestamp::from_secs(1_000);
            for gap in gaps {
                now = now + Duration::from_nanos(gap);
                let at = log.conforms_at(limit, 0).max(now);
                if at > now {
                    prop_assert!(!log.conforms(limit, 0, at.before(Duration::from_nanos(1))));
                }
                prop_assert!(log.conforms(limit, 0, at));
                log.record(at);
                now = at;
                prop_assert!(log.count(now) <= limit as usize);
            }
        }
    }

    #[test]
    fn a_limit_that_shrinks_and_grows_again_forgets_nothing() {
        let mut log = EventLog::new(WINDOW);
        let now = Timestamp::from_secs(100);
        (0..200).for_each(|_| log.record(now));
        assert!(!log.conforms(100, 0, now));
        assert!(!log.conforms(200, 0, now));
        assert!(log.conforms(201, 0, now));
    }

    #[test]
    fn memory_stays_within_twice_the_window() {
        let mut log = EventLog::new(WINDOW);
        for second in 0..100_000 {
            log.record(Timestamp::from_secs(second));
        }
        assert!(log.events.len <= 61);
        assert!(log.events.blocks.len() <= 61 / EventBlocks::SIZE + 2);
    }

    #[test]
    fn no_reserve_is_too_large() {
        let log = EventLog::new(WINDOW);
        assert_eq!(log.conforms_at(5, 5), Timestamp::MAX);
        assert_eq!(log.conforms_at(0, u32::MAX), Timestamp::MAX);
    }
}
