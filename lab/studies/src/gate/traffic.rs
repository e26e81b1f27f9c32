//! The clients, and the times of their arrival.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{Timestamp, gate::Arrival};
use waiting_room_sim::{Arrivals, Trace};

/// Clients that arrive at their own rate, whatever happens to others.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    pub(super) sources: Vec<Source>,
    /// The time after which an answer is of no use to a client.
    pub(super) patience: Duration,
    pub(super) abandonment: Abandonment,
}

/// Whether the server notices clients that leave the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abandonment {
    /// Their places are freed at once.
    Noticed,
    /// They are served for nothing.
    Unnoticed,
}

/// One tenant.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) class: u8,
    /// The number of names under which its requests arrive.
    names: u64,
    /// The number of requests in each time slot, repeated forever.
    slots: Vec<u32>,
}

impl Source {
    /// A source with this share of the [`CAPACITY`], in percent.
    pub(super) fn steady(percent: u32) -> Self {
        Self { class: 0, names: 1, slots: vec![in_a_slot(percent)] }
    }

    /// A source that sends four times the capacity for 150 ms every two seconds, and six tenths of
    /// it otherwise.
    pub(super) fn bursts() -> Self {
        let slots = (0..40).map(|slot| in_a_slot(if slot < 3 { 400 } else { 60 }));
        Self { class: 0, names: 1, slots: slots.collect() }
    }

    pub(super) fn class(self, class: u8) -> Self {
        Self { class, ..self }
    }

    pub(super) fn names(self, names: u64) -> Self {
        Self { names, ..self }
    }

    /// Draws the arrival times of its clients for this time: a Poisson process.
    pub(super) fn arrivals(&self, length: Duration, rng: Pcg64Mcg) -> Arrivals {
        let slots = length.as_nanos().div_ceil(SLOT.as_nanos());
        let slots = usize::try_from(slots).expect("a run lasts for seconds");
        let trace: Trace = self.slots.iter().copied().cycle().take(slots).collect();
        Arrivals::new(&trace, START, SLOT, rng)
    }

    /// One of its clients. Its tenant is unique for each source and each name of the source.
    pub(super) fn arrival(&self, source: usize, rng: &mut Pcg64Mcg) -> Arrival {
        let name = (source as u64) << 32 | rng.random_range(0..self.names);
        Arrival::default().class(self.class).tenant(name)
    }
}

/// The random generator of one source, whose seed is far from those of all other sources.
pub(super) fn chance(seed: u64, source: usize) -> Pcg64Mcg {
    let stream = (source as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Pcg64Mcg::seed_from_u64(seed.wrapping_add(stream))
}

const fn in_a_slot(percent: u32) -> u32 {
    CAPACITY / 20 * percent / 100
}

/// The limit of the gate.
pub(super) const LIMIT: u32 = 16;
/// The mean service time of a request.
pub(super) const MEAN_HOLD: Duration = Duration::from_millis(10);
/// The number of requests that are served per second.
pub(super) const CAPACITY: u32 = LIMIT * 100;
/// The start of a run. It is not zero, because a new gate records zero as the time at which it was
/// last empty.
pub(super) const START: Timestamp = Timestamp::from_secs(1_000_000);
const SLOT: Duration = Duration::from_millis(50);

/// Draws the service time of a request, which does not depend on other requests.
pub(super) fn hold(mean: Duration, rng: &mut Pcg64Mcg) -> Duration {
    let multiple: f64 = Exp1.sample(rng);
    mean.mul_f64(multiple)
}

#[cfg(test)]
mod tests {
    use waiting_room_sim::seeds;

    use super::*;

    fn times(source: &Source, seconds: u64, seed: u64) -> Vec<f64> {
        let arrivals = source.arrivals(Duration::from_secs(seconds), chance(seed, 0));
        arrivals.map(|at| at.since(START).as_secs_f64()).collect()
    }

    #[test]
    fn clients_come_at_the_rate_of_their_source() {
        for seed in seeds(3) {
            for percent in [5, 120, 1_000] {
                let count = times(&Source::steady(percent), 20, seed).len() as f64;
                let expected = f64::from(16 * percent * 20);
                // The tolerance is six standard deviations.
                assert!((count - expected).abs() < 6.0 * expected.sqrt(), "{count} of {expected}");
            }
        }
    }

    #[test]
    fn a_burst_is_in_the_first_150_ms_of_every_two_seconds() {
        for seed in seeds(3) {
            let times = times(&Source::bursts(), 40, seed);
            let (burst, base): (Vec<f64>, Vec<f64>) =
                times.into_iter().partition(|at| at % 2.0 < 0.15);
            let near = |count: usize, expected: f64| (count as f64 / expected - 1.0).abs() < 0.05;
            assert!(near(burst.len(), 20.0 * 0.15 * 6_400.0), "{} in bursts", burst.len());
            assert!(near(base.len(), 20.0 * 1.85 * 960.0), "{} between them", base.len());
        }
    }

    #[test]
    fn sources_do_not_come_at_the_same_times() {
        let source = Source::steady(100);
        let second = Duration::from_secs(1);
        let times = |number| source.arrivals(second, chance(7, number)).collect::<Vec<_>>();
        assert_ne!(times(0)[..9], times(1)[..9]);
        assert_eq!(times(0), times(0));
    }
}
