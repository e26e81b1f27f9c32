//! Lower bounds: visitors who were certainly active at one instant, and admissions that certainly
//! fell within 60 seconds.
//!
//! A visitor is certainly active from the arrival of an answer that admits it until its session may
//! have ended. A request in flight may turn out to be a checkout, which may end the session as soon
//! as it departs. So the count lags: it is settled only up to the departure of the oldest request
//! in flight.

use std::{cmp::Reverse, collections::BinaryHeap};

use rustc_hash::FxHashMap;
use waiting_room_core::Timestamp;

use super::{limits::Limits, visitor::Span};

/// Counts overlapping intervals of certain activity, which are half open: `[start, end)`.
#[derive(Clone, Debug, Default)]
pub(super) struct Active {
    intervals: FxHashMap<u64, Interval>,
    edges: BinaryHeap<Reverse<(Timestamp, Edge, u64)>>,
    next_key: u64,
    current: u64,
    highest: u64,
    /// Whether more visitors were active than allowed when one of them was admitted.
    has_exceeded: bool,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    end: Timestamp,
    counted: bool,
    /// The most visitors who may have been active when this one was admitted.
    allowed: u64,
}

/// A boundary of an interval. At equal times an end comes before a start, because the slot is
/// passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    End,
    Start,
}

impl Active {
    /// Adds an interval `[start, end)` in which a visitor is active, who was admitted while at most
    /// `allowed` visitors might be active. Returns its key.
    pub(super) fn begin(&mut self, start: Timestamp, end: Timestamp, allowed: u64) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        if start < end {
            self.intervals.insert(key, Interval { end, counted: false, allowed });
            self.edges.push(Reverse((start, Edge::Start, key)));
            self.edges.push(Reverse((end, Edge::End, key)));
        }
        key
    }

    /// Extends an interval to `end`, or begins a new one at `at` if it had ended. Returns the key
    /// of the interval.
    pub(super) fn extend(&mut self, key: u64, at: Timestamp, end: Timestamp, allowed: u64) -> u64 {
        match self.intervals.get_mut(&key) {
            Some(old) if at <= old.end => {
                old.end = end.max(old.end);
                key
            }
            _ => self.begin(at, end, allowed),
        }
    }

    /// Makes an interval end at `end` at the latest.
    pub(super) fn cut(&mut self, key: u64, end: Timestamp) {
        if let Some(old) = self.intervals.get_mut(&key)
            && end < old.end
        {
            old.end = end;
            self.edges.push(Reverse((end, Edge::End, key)));
        }
    }

    /// Counts the intervals before `until`, where no more change is possible.
    pub(super) fn settle(&mut self, until: Timestamp) {
        while let Some(&Reverse((at, edge, key))) = self.edges.peek() {
            if at >= until {
                return;
            }
            self.edges.pop();
            let Some(interval) = self.intervals.get_mut(&key) else {
                continue;
            };
            let over = interval.end <= at;
            match edge {
                Edge::End if !over => self.edges.push(Reverse((interval.end, Edge::End, key))),
                Edge::Start if !over => {
                    interval.counted = true;
                    self.current += 1;
                    self.highest = self.highest.max(self.current);
                    self.has_exceeded |= self.current > interval.allowed;
                }
                Edge::End | Edge::Start => {
                    self.current -= u64::from(interval.counted);
                    self.intervals.remove(&key);
                }
            }
        }
    }

    /// The highest count so far.
    pub(super) const fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether more visitors were certainly active than allowed.
    pub(super) const fn has_exceeded(&self) -> bool {
        self.has_exceeded
    }
}

/// Counts admissions whose whole interval lies within one half-open window `(t, t + 60 s]`.
#[derive(Clone, Debug, Default)]
pub(super) struct Minute {
    departures: BinaryHeap<Reverse<Timestamp>>,
    highest: u64,
    has_exceeded: bool,
}

impl Minute {
    /// Records an admission that happened when at most `allowed` admissions were possible.
    /// Admissions come in the order of their answers, so of all windows that contain this one, the
    /// window that ends with it is the fullest so far.
    pub(super) fn record(&mut self, decided: Span, allowed: u64) {
        self.departures.push(Reverse(decided.from));
        let begin = decided.to.before(Limits::MINUTE);
        // In the first minute since the epoch, `begin` is cut off at zero, and nothing is too old.
        while decided.to.as_nanos() >= nanos_of_a_minute()
            && self.departures.peek().is_some_and(|Reverse(from)| *from <= begin)
        {
            self.departures.pop();
        }
        self.highest = self.highest.max(self.departures.len() as u64);
        self.has_exceeded |= self.departures.len() as u64 > allowed;
    }

    /// The highest count so far.
    pub(super) const fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether more visitors were certainly admitted than allowed.
    pub(super) const fn has_exceeded(&self) -> bool {
        self.has_exceeded
    }
}

const fn nanos_of_a_minute() -> u64 {
    Limits::MINUTE.as_secs() * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn a_slot_handed_on_at_one_instant_is_one_slot() {
        let mut active = Active::default();
        active.begin(at(1), at(5), 2);
        active.begin(at(5), at(9), 2);
        active.settle(Timestamp::MAX);
        assert_eq!(active.highest(), 1);
    }

    #[test]
    fn an_interval_is_extended_only_while_it_lasts() {
        let mut active = Active::default();
        let first = active.begin(at(1), at(5), 2);
        assert_eq!(active.extend(first, at(5), at(8), 2), first);
        assert_ne!(active.extend(first, at(9), at(12), 2), first);
        active.begin(at(8), at(9), 2);
        active.settle(Timestamp::MAX);
        assert_eq!(active.highest(), 1);
    }

    #[test]
    fn a_cut_interval_ends_early_and_once() {
        let mut active = Active::default();
        let first = active.begin(at(1), at(50), 2);
        active.settle(at(2));
        active.cut(first, at(3));
        active.begin(at(3), at(50), 2);
        active.settle(Timestamp::MAX);
        assert_eq!((active.highest(), active.current), (1, 0));
    }

    #[test]
    fn an_interval_cut_to_nothing_is_removed() {
        let mut active = Active::default();
        let first = active.begin(at(5), at(50), 2);
        active.cut(first, at(4));
        active.begin(at(4), at(60), 2);
        active.settle(Timestamp::MAX);
        assert_eq!((active.highest(), active.current), (1, 0));
    }

    #[test]
    fn intervals_that_may_still_change_are_not_counted() {
        let mut active = Active::default();
        active.begin(at(1), at(9), 2);
        active.begin(at(5), at(9), 2);
        active.settle(at(5));
        assert_eq!(active.highest(), 1);
        active.settle(at(6));
        assert_eq!(active.highest(), 2);
    }

    #[test]
    fn the_limit_at_the_time_of_an_admission_counts() {
        for (allowed, exceeded) in [(2, false), (1, true)] {
            let mut active = Active::default();
            active.begin(at(1), at(9), 2);
            active.begin(at(2), at(9), allowed);
            // Active visitors stay active after the limit was lowered.
            active.settle(Timestamp::MAX);
            assert_eq!(active.has_exceeded(), exceeded);
            let mut minute = Minute::default();
            minute.record(decided(0, 0), 2);
            minute.record(decided(1, 1), allowed);
            assert_eq!(minute.has_exceeded(), exceeded);
        }
    }

    fn decided(from: u64, to: u64) -> Span {
        Span { from: Timestamp::from_secs(1_000 + from), to: Timestamp::from_secs(1_000 + to) }
    }

    #[test]
    fn two_admissions_a_minute_apart_share_no_window() {
        let mut minute = Minute::default();
        minute.record(decided(0, 0), 1);
        minute.record(decided(60, 60), 1);
        assert_eq!(minute.highest(), 1);
        minute.record(decided(119, 119), 1);
        assert_eq!(minute.highest(), 2);
    }

    #[test]
    fn an_interval_that_sticks_out_of_the_window_is_not_counted() {
        let mut minute = Minute::default();
        minute.record(decided(0, 30), 1);
        minute.record(decided(40, 61), 1);
        assert_eq!(minute.highest(), 1);
        minute.record(decided(39, 62), 1);
        assert_eq!(minute.highest(), 2);
    }
}
