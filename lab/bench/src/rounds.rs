//! Timing in interleaved rounds: one sample of each case in each round.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::{
    case::{Case, Repeat},
    effort::Effort,
};

/// Measures the CPU time of one repetition of each case, in nanoseconds, with a sample per round.
pub(crate) fn time(cases: &[Case], effort: Effort) -> Vec<Samples> {
    time_by(thread_cpu_time, cases, effort)
}

/// Measures the same by the wall clock, for cases that start threads: until all of them are done.
pub(crate) fn time_by_wall(cases: &[Case], effort: Effort) -> Vec<Samples> {
    time_by(wall_time, cases, effort)
}

fn time_by(clock: fn() -> Duration, cases: &[Case], effort: Effort) -> Vec<Samples> {
    let set_up = |case: &Case| Running::new((case.set_up)(), clock, effort.sample());
    let mut running: Vec<Running> = cases.iter().map(set_up).collect();
    for round in 0..effort.rounds() {
        // The order alternates, so that no case always follows the same other one.
        if round % 2 == 0 {
            running.iter_mut().for_each(Running::sample);
        } else {
            running.iter_mut().rev().for_each(Running::sample);
        }
    }
    running.into_iter().map(|running| running.samples).collect()
}

/// The CPU time of this thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).expect("a thread has not run for less than no time")
}

/// The monotonic clock of the machine, for work of several threads.
pub(crate) fn wall_time() -> Duration {
    let since_start = clock_gettime(ClockId::Monotonic);
    Duration::try_from(since_start).expect("a machine has not run for less than no time")
}

/// A case that has been set up.
struct Running {
    repeat: Repeat,
    clock: fn() -> Duration,
    times: u64,
    samples: Samples,
}

impl Running {
    /// Finds how often the case fits into the time of one sample, which also warms it up.
    fn new(repeat: Repeat, clock: fn() -> Duration, sample: Duration) -> Self {
        let mut this = Self { repeat, clock, times: 1, samples: Samples::default() };
        // The shorter of two runs, because one may be delayed by other work.
        while this.spend().min(this.spend()) < sample / 2 && this.times < MAX_TIMES {
            this.times *= 2;
        }
        this
    }

    fn sample(&mut self) {
        let spent = self.spend();
        self.samples.push(spent.as_secs_f64() * 1e9 / float(self.times));
    }

    fn spend(&mut self) -> Duration {
        let begin = (self.clock)();
        self.repeat.run(self.times);
        (self.clock)().saturating_sub(begin)
    }
}

/// Converts a count for a division; no count here comes near 2³².
fn float(times: u64) -> f64 {
    u32::try_from(times).map_or(f64::INFINITY, f64::from)
}

/// The most repetitions in a sample, however short they are.
const MAX_TIMES: u64 = 1 << 24;

/// One figure for each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The median; NaN if there are no samples.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            len if len % 2 == 1 => sorted[len / 2],
            len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
        }
    }

    pub(crate) fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Combines these samples with others, round by round.
    pub(crate) fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(this, that)| combine(*this, *that)).collect())
    }

    /// The differences to another case, round by round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        self.with(other, |this, that| this - that)
    }

    /// The ratios to another case, round by round.
    pub(crate) fn ratio_to(&self, other: &Self) -> Self {
        self.with(other, |this, that| this / that)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(figures: &[f64]) -> Samples {
        Samples(figures.to_vec())
    }

    fn is(figure: f64, expected: f64) -> bool {
        (figure - expected).abs() < 1e-9
    }

    #[test]
    fn the_median_stands_in_the_middle() {
        assert!(is(samples(&[9.0, 1.0, 2.0]).median(), 2.0));
        assert!(is(samples(&[4.0, 1.0, 2.0, 9.0]).median(), 3.0));
        assert!(samples(&[]).median().is_nan());
    }

    #[test]
    fn a_slow_round_does_not_count_between_two_cases_that_both_had_it() {
        let floor = samples(&[100.0, 900.0, 100.0]);
        let case = samples(&[150.0, 950.0, 151.0]);
        assert!(is(case.over(&floor).median(), 50.0));
        assert!(is(case.ratio_to(&floor).max(), 1.51));
        assert!(is(case.min(), 150.0));
    }
}
