//! Timing: the cases take turns, round after round.

use std::time::Duration;

use super::{cpu::thread_cpu_time, samples::Samples};
use crate::{
    case::{Case, Repeat},
    effort::Effort,
};

/// Nanoseconds of CPU for one repetition of each case, a sample in each round.
pub(crate) fn time(cases: &[Case], effort: Effort) -> Vec<Samples> {
    let mut running: Vec<Running> =
        cases.iter().map(|case| Running::new((case.set_up)(), effort.sample())).collect();
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
    times: u64,
    samples: Samples,
}

impl Running {
    /// Finds out how often the case runs in the time of one sample; that warms it up as well.
    fn new(mut repeat: Repeat, sample: Duration) -> Self {
        let mut times = 1;
        loop {
            let spent = spend(&mut repeat, times);
            if spent >= sample / 2 || times >= MAX_TIMES {
                return Self { repeat, times, samples: Samples::default() };
            }
            times *= 2;
        }
    }

    fn sample(&mut self) {
        let spent = spend(&mut self.repeat, self.times);
        self.samples.push(spent.as_secs_f64() * 1e9 / float(self.times));
    }
}

fn spend(repeat: &mut Repeat, times: u64) -> Duration {
    let begin = thread_cpu_time();
    repeat.run(times);
    thread_cpu_time().saturating_sub(begin)
}

/// A count as a number that can be divided by; no count here comes near 2⁵³.
fn float(times: u64) -> f64 {
    u32::try_from(times).map_or(f64::INFINITY, f64::from)
}

/// A sample has at most so many repetitions, however short they are.
const MAX_TIMES: u64 = 1 << 24;
