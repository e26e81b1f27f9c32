//! How many new visitors come to a site, as a moving average.

use std::time::Duration;

use waiting_room_core::Timestamp;

/// An exponentially weighted moving average of arrivals, in thousandths a second.
///
/// Integers, since only the proportions between sites matter and a ledger has to be comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Demand {
    per_1000_s: u64,
    arrivals: u64,
    since: Timestamp,
}

impl Demand {
    /// An arrival counts for about this long.
    const MEMORY: Duration = Duration::from_secs(10);
    /// A shorter time is too short to be averaged.
    const SHORTEST: Duration = Duration::from_millis(100);

    pub(super) const fn new(now: Timestamp) -> Self {
        Self { per_1000_s: 0, arrivals: 0, since: now }
    }

    /// Somebody came.
    pub(super) const fn arrived(&mut self) {
        self.arrivals = self.arrivals.saturating_add(1);
    }

    /// Arrivals in a thousand seconds.
    pub(super) fn rate(&mut self, now: Timestamp) -> u64 {
        let elapsed = now.since(self.since);
        if elapsed >= Self::SHORTEST {
            let (memory, elapsed) = (millis(Self::MEMORY), millis(elapsed));
            let kept = u128::from(self.per_1000_s) * memory;
            let new = u128::from(self.arrivals) * 1_000_000;
            let rate = (kept + new) / (memory + elapsed);
            *self = Self::new(now);
            self.per_1000_s = u64::try_from(rate).unwrap_or(u64::MAX);
        }
        self.per_1000_s
    }
}

fn millis(duration: Duration) -> u128 {
    duration.as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured_and_a_dry_one_is_forgotten() {
        let mut demand = Demand::new(Timestamp::ZERO);
        let mut rate = 0;
        for second in 1..=100 {
            for _ in 0..5 {
                demand.arrived();
            }
            rate = demand.rate(Timestamp::from_secs(second));
        }
        assert!((4_900..=5_000).contains(&rate), "{rate} in 1000 s");
        assert!(demand.rate(Timestamp::from_secs(10_000)) < 6);
    }

    #[test]
    fn asking_often_measures_the_same() {
        let mut demand = Demand::new(Timestamp::ZERO);
        let mut rate = 0;
        for tick in 1..=40_000 {
            if tick % 100 == 0 {
                demand.arrived();
            }
            rate = demand.rate(Timestamp::from_millis(tick));
        }
        assert!((9_000..=10_000).contains(&rate), "{rate} in 1000 s");
    }
}
