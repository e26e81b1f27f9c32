//! Traces of requests per minute, and arrivals that follow a trace: a Poisson process.

use std::{ops::Range, time::Duration};

use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::Timestamp;

/// An iterator over the times of arrival, in order.
///
/// The rate is constant within each minute of the trace, and the gaps are exponential. A gap that
/// extends beyond the minute is redrawn from the end of the minute, which is correct because the
/// process is memoryless.
#[derive(Clone, Debug)]
pub struct Arrivals {
    rng: Pcg64Mcg,
    rates: std::vec::IntoIter<f64>,
    minute: Duration,
    rate: f64,
    ends: Timestamp,
    now: Timestamp,
}

impl Arrivals {
    /// Creates the arrivals for a trace, from `start` on: on average one visitor for each request.
    ///
    /// A minute of the trace takes the time `minute`: less than 60 seconds compresses the day, and
    /// the same visitors arrive at a higher rate.
    #[must_use]
    pub fn new(trace: &Trace, start: Timestamp, minute: Duration, rng: Pcg64Mcg) -> Self {
        let rates: Vec<_> =
            trace.counts().iter().map(|count| count / minute.as_secs_f64()).collect();
        Self { rng, rates: rates.into_iter(), minute, rate: 0.0, ends: start, now: start }
    }
}

impl Iterator for Arrivals {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        loop {
            if self.rate > 0.0 {
                let gap: f64 = Exp1.sample(&mut self.rng);
                let gap = Duration::try_from_secs_f64(gap / self.rate).unwrap_or(Duration::MAX);
                self.now = self.now + gap;
                if self.now < self.ends {
                    return Some(self.now);
                }
            }
            self.rate = self.rates.next()?;
            self.now = self.ends;
            self.ends = self.ends + self.minute;
        }
    }
}

/// The number of requests in each minute of a day, scaled as needed.
///
/// ```
/// use waiting_room_sim::Trace;
///
/// let trace = Trace::from_iter([100, 300]);
/// assert_eq!(trace.scaled_to(40.0).counts(), [10.0, 30.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    counts: Vec<f64>,
}

impl Trace {
    /// The requests in each minute.
    #[must_use]
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The requests in total.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The requests in the busiest minute.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.counts.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the same day, scaled to `total` requests.
    #[must_use]
    pub fn scaled_to(&self, total: f64) -> Self {
        let factor = if self.total() > 0.0 { total / self.total() } else { 0.0 };
        Self { counts: self.counts.iter().map(|count| count * factor).collect() }
    }

    /// Returns only these minutes, clipped to the length of the trace.
    #[must_use]
    pub fn minutes(&self, minutes: Range<usize>) -> Self {
        let end = minutes.end.min(self.counts.len());
        let start = minutes.start.min(end);
        Self { counts: self.counts[start..end].to_vec() }
    }
}

impl FromIterator<u32> for Trace {
    fn from_iter<T: IntoIterator<Item = u32>>(counts: T) -> Self {
        Self { counts: counts.into_iter().map(f64::from).collect() }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::seeds;

    fn arrivals(counts: &[u32], minute: u64, seed: u64) -> Vec<Timestamp> {
        let trace: Trace = counts.iter().copied().collect();
        let rng = Pcg64Mcg::seed_from_u64(seed);
        let start = Timestamp::from_secs(1_000);
        Arrivals::new(&trace, start, Duration::from_secs(minute), rng).collect()
    }

    #[test]
    fn the_arrivals_of_each_minute_follow_the_trace() {
        for seed in seeds(3) {
            let times = arrivals(&[40_000, 0, 10_000], 60, seed);
            let in_minute = |index: u64| {
                let begin = Timestamp::from_secs(1_000 + 60 * index);
                let end = Timestamp::from_secs(1_060 + 60 * index);
                times.iter().filter(|&&at| begin <= at && at < end).count()
            };
            // Ten standard deviations.
            assert!(in_minute(0).abs_diff(40_000) < 2_000);
            assert_eq!(in_minute(1), 0);
            assert!(in_minute(2).abs_diff(10_000) < 1_000);
            assert_eq!(in_minute(0) + in_minute(2), times.len());
            assert!(times.is_sorted());
        }
    }

    #[test]
    fn the_gaps_are_as_uneven_as_chance() {
        for seed in seeds(3) {
            let times = arrivals(&[20_000], 60, seed);
            let gaps: Vec<_> =
                times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
            let count = gaps.len() as f64;
            let mean = gaps.iter().sum::<f64>() / count;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
            let ratio = variance.sqrt() / mean;
            assert!((0.9..1.1).contains(&ratio), "{ratio} instead of 1, for a Poisson process");
        }
    }

    #[test]
    fn a_compressed_day_has_the_same_visitors_in_less_time() {
        let times = arrivals(&[10_000, 10_000], 6, 7);
        assert!(times.len().abs_diff(20_000) < 1_500);
        assert!(times.last().unwrap() < &Timestamp::from_secs(1_012));
        assert!(times.last().unwrap() > &Timestamp::from_secs(1_011));
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let counts = &[100];
        assert_eq!(arrivals(counts, 60, 5), arrivals(counts, 60, 5));
        assert_ne!(arrivals(counts, 60, 5), arrivals(counts, 60, 6));
    }

    #[test]
    fn scaling_keeps_the_shape() {
        let trace = |counts: &[u32]| counts.iter().copied().collect::<Trace>();
        assert_eq!(trace(&[1, 3]).scaled_to(8.0), trace(&[2, 6]));
        assert_eq!(trace(&[0, 0]).scaled_to(8.0), trace(&[0, 0]));
        assert_eq!(trace(&[1, 2, 3]).minutes(1..9), trace(&[2, 3]));
        assert_eq!((trace(&[1, 4, 3]).total(), trace(&[1, 4, 3]).peak()), (8.0, 4.0));
    }
}
