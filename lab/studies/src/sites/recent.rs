//! Sliding windows: counts of recent events, and the lowest recent value of a number.

use std::collections::VecDeque;

use super::clock::{MINUTE, SECOND};

/// Counts events by the second, for three minutes.
#[derive(Debug)]
pub(super) struct Pace {
    seconds: [u32; Pace::LENGTH],
    now: u32,
}

impl Pace {
    const LENGTH: usize = 180;

    pub(super) const fn new() -> Self {
        Self { seconds: [0; Self::LENGTH], now: 0 }
    }

    pub(super) fn count(&mut self, now: u32) {
        self.turn(now);
        self.seconds[self.now as usize % Self::LENGTH] += 1;
    }

    /// The mean number of events per second, over this number of whole seconds, up to three
    /// minutes.
    pub(super) fn per_second(&mut self, over: u32, now: u32) -> f64 {
        self.turn(now);
        let first = self.now.saturating_sub(over);
        let seconds = (first..self.now).map(|second| self.seconds[second as usize % Self::LENGTH]);
        f64::from(seconds.sum::<u32>()) / f64::from(over)
    }

    fn turn(&mut self, now: u32) {
        let present = now / SECOND;
        while self.now < present {
            self.now += 1;
            self.seconds[self.now as usize % Self::LENGTH] = 0;
        }
    }
}

/// A number that changes over time, and its recent minimum.
#[derive(Debug)]
pub(super) struct Lately {
    window: u32,
    now: i64,
    /// Past values, each with the time at which it ended. They ascend, because a higher value that
    /// ended earlier can never be the minimum again.
    lows: VecDeque<(u32, i64)>,
}

impl Lately {
    /// A number that has had this value from the beginning of time.
    pub(super) const fn new(number: i64, window: u32) -> Self {
        Self { window, now: number, lows: VecDeque::new() }
    }

    /// Changes the number at `now`.
    pub(super) fn change(&mut self, number: i64, now: u32) {
        if number == self.now {
            return;
        }
        while self.lows.back().is_some_and(|(_, low)| *low >= self.now) {
            self.lows.pop_back();
        }
        self.lows.push_back((now, self.now));
        self.now = number;
    }

    /// The minimum within the window that ends now, including the current value.
    pub(super) fn least(&mut self, now: u32) -> i64 {
        while self.lows.front().is_some_and(|(until, _)| until + self.window <= now) {
            self.lows.pop_front();
        }
        self.lows.front().map_or(self.now, |(_, low)| self.now.min(*low))
    }
}

/// The times of events within the last minute.
#[derive(Clone, Debug, Default)]
pub(super) struct LastMinute(VecDeque<u32>);

impl LastMinute {
    pub(super) fn add(&mut self, now: u32) {
        self.forget(now);
        self.0.push_back(now);
    }

    pub(super) fn count(&mut self, now: u32) -> u32 {
        self.forget(now);
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn forget(&mut self, now: u32) {
        while self.0.front().is_some_and(|at| at + MINUTE <= now) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn older_values_do_not_count() {
        let mut pace = Pace::new();
        [500, 1_000, 1_999, 60_000].into_iter().for_each(|at| pace.count(at));
        assert!((pace.per_second(60, 60_999) - 3.0 / 60.0).abs() < 1e-9);
        assert!((pace.per_second(60, 61_000) - 3.0 / 60.0).abs() < 1e-9);
        assert!((pace.per_second(60, 62_000) - 1.0 / 60.0).abs() < 1e-9);
        assert!(pace.per_second(60, 400_000) < 1e-9);
    }

    proptest! {
        #[test]
        fn the_minimum_agrees_with_a_list(
            changes in proptest::collection::vec((0..4_u32, -2..6_i64), 0..60),
        ) {
            let mut lately = Lately::new(3, 5);
            let mut now = 0;
            let mut all = vec![(0, 3)];
            for (pause, number) in changes {
                now += pause;
                lately.change(number, now);
                all.push((now, number));
                // A value counts until it has been replaced for as long as the window.
                let ends = all.iter().skip(1).map(|(at, _)| *at).chain([u32::MAX]);
                let counts = all.iter().zip(ends).filter(|(_, end)| end.saturating_add(5) > now);
                let least = counts.map(|((_, number), _)| *number).min();
                prop_assert_eq!(Some(lately.least(now)), least);
            }
        }
    }
}
