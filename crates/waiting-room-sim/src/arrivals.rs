//! When visitors arrive: a Poisson process whose rate follows a trace.

use std::time::Duration;

use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::Timestamp;

use crate::Trace;

/// The times of arrival, in order.
///
/// Each minute of the trace is a stretch of constant rate. Within it the gaps are exponential, and
/// a gap that reaches over its end is drawn anew from there on: the process has no memory.
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
    /// As many visitors as the trace has requests, give or take the chance, from `start` on.
    ///
    /// A minute of the trace takes the time `minute`: less than 60 seconds compresses the day, and
    /// the same visitors come at a higher rate.
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::seeds::seeds;

    fn arrivals(counts: &[u32], minute: u64, seed: u64) -> Vec<Timestamp> {
        let trace: Trace = counts.iter().copied().collect();
        let rng = Pcg64Mcg::seed_from_u64(seed);
        let start = Timestamp::from_secs(1_000);
        Arrivals::new(&trace, start, Duration::from_secs(minute), rng).collect()
    }

    #[test]
    fn as_many_arrive_in_each_minute_as_the_trace_says_give_or_take() {
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
    fn the_gaps_are_as_uneven_as_chance_makes_them() {
        for seed in seeds(3) {
            let times = arrivals(&[20_000], 60, seed);
            let gaps: Vec<_> =
                times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
            let count = gaps.len() as f64;
            let mean = gaps.iter().sum::<f64>() / count;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
            let ratio = variance.sqrt() / mean;
            assert!((0.9..1.1).contains(&ratio), "{ratio} is not that of a Poisson process");
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
}
