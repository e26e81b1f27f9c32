//! Timing: the cases take turns, round after round.

use std::time::Duration;

use super::{
    cpu::{thread_cpu_time, wall_time},
    samples::Samples,
};
use crate::{
    case::{Case, Repeat},
    effort::Effort,
};

/// Nanoseconds of CPU for one repetition of each case, a sample in each round.
pub(crate) fn time(cases: &[Case], effort: Effort) -> Vec<Samples> {
    time_by(thread_cpu_time, cases, effort)
}

/// The same for cases that start threads: nanoseconds until all of them are done.
pub(crate) fn time_by_wall(cases: &[Case], effort: Effort) -> Vec<Samples> {
    time_by(wall_time, cases, effort)
}

fn time_by(clock: fn() -> Duration, cases: &[Case], effort: Effort) -> Vec<Samples> {
    let set_up = |case: &Case| Running::new((case.set_up)(), clock, effort.sample());
    let mut running: Vec<Running> = cases.iter().map(set_up).collect();
    for round in 0..effort.rounds() {
        // Back and forth, so that no case always follows the same other.
        if round % 2 == 0 {
            running.iter_mut().for_each(Running::sample);
        } else {
            running.iter_mut().rev().for_each(Running::sample);
        }
    }
    running.into_iter().map(|running| running.samples).collect()
}

/// A case that has been set up.
struct Running {
    repeat: Repeat,
    clock: fn() -> Duration,
    times: u64,
    samples: Samples,
}

impl Running {
    /// Finds out how often the case runs in the time of one sample; that warms it up as well.
    fn new(repeat: Repeat, clock: fn() -> Duration, sample: Duration) -> Self {
        let mut this = Self { repeat, clock, times: 1, samples: Samples::default() };
        // Twice, for the first may have been long because of something else.
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

/// A count as a number that can be divided by; no count here comes near 2⁵³.
fn float(times: u64) -> f64 {
    u32::try_from(times).map_or(f64::INFINITY, f64::from)
}

/// A sample has at most so many repetitions, however short they are.
const MAX_TIMES: u64 = 1 << 24;
