//! How many admissions certainly fell into one window of 60 seconds.

use std::{cmp::Reverse, collections::BinaryHeap};

use waiting_room_core::Timestamp;

use super::{limits::Limits, visitor::Span};

/// Counts admissions whose whole interval lies within one half-open window `(t, t + 60 s]`.
#[derive(Clone, Debug, Default)]
pub(super) struct Minute {
    departures: BinaryHeap<Reverse<Timestamp>>,
    highest: u64,
}

impl Minute {
    /// An admission. They come in the order of their answers, so the window that ends with this
    /// one is the fullest that holds it.
    pub(super) fn record(&mut self, decided: Span) {
        self.departures.push(Reverse(decided.from));
        let begin = decided.to.before(Limits::MINUTE);
        // Before the first minute of time there is nothing to leave out.
        while decided.to.as_nanos() >= nanos_of_a_minute()
            && self.departures.peek().is_some_and(|Reverse(from)| *from <= begin)
        {
            self.departures.pop();
        }
        self.highest = self.highest.max(self.departures.len() as u64);
    }

    /// The highest count so far.
    pub(super) const fn highest(&self) -> u64 {
        self.highest
    }
}

const fn nanos_of_a_minute() -> u64 {
    Limits::MINUTE.as_secs() * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(from: u64, to: u64) -> Span {
        Span { from: Timestamp::from_secs(1_000 + from), to: Timestamp::from_secs(1_000 + to) }
    }

    #[test]
    fn two_admissions_a_minute_apart_share_no_window() {
        let mut minute = Minute::default();
        minute.record(decided(0, 0));
        minute.record(decided(60, 60));
        assert_eq!(minute.highest(), 1);
        minute.record(decided(119, 119));
        assert_eq!(minute.highest(), 2);
    }

    #[test]
    fn an_interval_that_sticks_out_of_the_window_is_not_counted() {
        let mut minute = Minute::default();
        minute.record(decided(0, 30));
        minute.record(decided(40, 61));
        assert_eq!(minute.highest(), 1);
        minute.record(decided(39, 62));
        assert_eq!(minute.highest(), 2);
    }
}
