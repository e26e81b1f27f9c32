//! The least that a number has been in the last while.

use std::collections::VecDeque;

/// A number that changes now and then, and how low it was lately.
#[derive(Debug)]
pub(super) struct Lately {
    window: u32,
    now: i64,
    /// Until when the number was how low: later ones are higher, for an earlier one that was higher
    /// will never be the least again.
    lows: VecDeque<(u32, i64)>,
}

impl Lately {
    /// It is this number from the beginning of time.
    pub(super) const fn new(number: i64, window: u32) -> Self {
        Self { window, now: number, lows: VecDeque::new() }
    }

    /// From now on it is this number.
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

    /// The least of the window that ends now, and what it is now.
    pub(super) fn least(&mut self, now: u32) -> i64 {
        while self.lows.front().is_some_and(|(until, _)| until + self.window <= now) {
            self.lows.pop_front();
        }
        self.lows.front().map_or(self.now, |(_, low)| self.now.min(*low))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_is_that_of_a_list(
            changes in proptest::collection::vec((0..4_u32, -2..6_i64), 0..60),
        ) {
            let mut lately = Lately::new(3, 5);
            let (mut now, mut all) = (0, vec![(0, 3)]);
            for (pause, number) in changes {
                now += pause;
                lately.change(number, now);
                all.push((now, number));
                // A number counts until it has been another one for as long as the window is.
                let ends = all.iter().skip(1).map(|(at, _)| *at).chain([u32::MAX]);
                let counts = all.iter().zip(ends).filter(|(_, end)| end.saturating_add(5) > now);
                let least = counts.map(|((_, number), _)| *number).min();
                prop_assert_eq!(Some(lately.least(now)), least);
            }
        }
    }
}
