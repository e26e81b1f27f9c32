//! How many in the last seconds.

use super::clock::SECOND;

/// Counts events, second by second, for three minutes.
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

    /// How many in a second, over so many whole seconds up to three minutes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_ago_does_not_count() {
        let mut pace = Pace::new();
        [500, 1_000, 1_999, 60_000].into_iter().for_each(|at| pace.count(at));
        assert!((pace.per_second(60, 60_999) - 3.0 / 60.0).abs() < 1e-9);
        assert!((pace.per_second(60, 61_000) - 3.0 / 60.0).abs() < 1e-9);
        assert!((pace.per_second(60, 62_000) - 1.0 / 60.0).abs() < 1e-9);
        assert!(pace.per_second(60, 400_000) < 1e-9);
    }
}
