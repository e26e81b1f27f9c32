//! The traffic of the study: many independent sources.

use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{Quota, Timestamp};

use super::{
    crowd::Crowd,
    rates::{Rates, pareto},
};

/// Sources of one kind under one quota.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub name: &'static str,
    pub quota: Quota,
    pub sources: u64,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
enum Pattern {
    Crowd(Crowd),
    /// Busy for a tenth of the time and silent otherwise, for periods of heavy-tailed lengths.
    OnOff {
        rates: Rates,
        minutes: f64,
    },
    /// Poisson processes.
    Steady {
        rates: Rates,
        minutes: f64,
    },
}

impl Traffic {
    /// All traffic of the study, in full size.
    pub(crate) fn all(crowd: Crowd) -> Vec<Self> {
        let steady = |name, limit, sources, rates, minutes| Self {
            name,
            quota: Quota::per_minute(limit),
            sources,
            pattern: Pattern::Steady { rates, minutes },
        };
        let pareto = Rates::Pareto { least: 1.0 };
        let log_normal = Rates::LogNormal { median: 5.0 };
        let bursts = Pattern::OnOff { rates: Rates::Pareto { least: 2.0 }, minutes: 30.0 };
        let per_minute = Quota::per_minute;
        vec![
            steady("Pareto rates", 50, 270_000, pareto, 20.0),
            steady("Pareto rates", 1_000, 270_000, pareto, 10.0),
            steady("lognormal rates", 50, 270_000, log_normal, 14.0),
            Self { name: "on and off", quota: per_minute(50), sources: 60_000, pattern: bursts },
            steady("near the limit", 50, 12_000, Rates::Around(50.0), 10.0),
            Self {
                name: "a real crowd",
                quota: per_minute(50),
                sources: 300_000,
                pattern: Pattern::Crowd(crowd),
            },
        ]
    }

    /// The same traffic, with as many sources as make about this number of requests.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    pub(crate) fn scaled_to(self, requests: u64) -> Self {
        let sources = (requests as f64 / self.mean_requests()).ceil().clamp(1.0, 1e9) as u64;
        Self { sources, ..self }
    }

    /// Draws the times of one source, in ascending order.
    pub(super) fn arrivals(&self, rng: &mut Pcg64Mcg) -> Vec<Timestamp> {
        // Windows begin at the same times for all sources, but sources begin at a random time of a
        // window.
        let begin = self.quota.window().as_secs_f64() * rng.random::<f64>();
        let times = match &self.pattern {
            Pattern::Crowd(crowd) => crowd.client(rng),
            Pattern::OnOff { rates, minutes } => on_off(rates.sample(rng), *minutes, rng),
            Pattern::Steady { rates, minutes } => {
                let mut times = Vec::new();
                poisson(&mut times, rates.sample(rng), 0.0..60.0 * minutes, rng);
                times
            }
        };
        times.into_iter().map(|time| at(begin + time)).collect()
    }

    /// The approximate mean number of requests of a source.
    fn mean_requests(&self) -> f64 {
        match &self.pattern {
            Pattern::Crowd(_) => Crowd::MEAN_REQUESTS,
            Pattern::OnOff { rates, minutes } | Pattern::Steady { rates, minutes } => {
                rates.mean() * minutes
            }
        }
    }
}

/// Draws the times of a source with this mean rate that sends requests only in its busy periods.
fn on_off(rate: f64, minutes: f64, rng: &mut Pcg64Mcg) -> Vec<f64> {
    let mut times = Vec::new();
    let end = 60.0 * minutes;
    let mut is_on = rng.random_bool(DUTY);
    let mut now = 0.0;
    while now < end {
        let mean = if is_on { DUTY * MEAN_CYCLE } else { (1.0 - DUTY) * MEAN_CYCLE };
        let least = mean * (STRETCH_TAIL - 1.0) / STRETCH_TAIL;
        let until = (now + pareto(least, STRETCH_TAIL, rng)).min(end);
        if is_on {
            poisson(&mut times, rate / DUTY, now..until, rng);
        }
        now = until;
        is_on = !is_on;
    }
    times
}

/// Adds the times of a Poisson process with a rate of `rate` per minute.
fn poisson(times: &mut Vec<f64>, rate: f64, span: std::ops::Range<f64>, rng: &mut Pcg64Mcg) {
    let mut now = span.start;
    while times.len() < MOST_REQUESTS {
        let gap: f64 = Exp1.sample(rng);
        now += 60.0 * gap / rate;
        if now >= span.end {
            break;
        }
        times.push(now);
    }
}

/// Returns a time of the study in whole microseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "days, not ages")]
fn at(seconds: f64) -> Timestamp {
    START + Duration::from_micros((seconds * 1e6) as u64)
}

/// The start of the study. It is midnight, and therefore the start of a window of any length that
/// divides a day.
pub(super) const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);
/// The maximum number of requests of a source, since the times of one source are kept in memory.
const MOST_REQUESTS: usize = 4_000_000;
const DUTY: f64 = 0.1;
/// The mean time from the start of one busy period to the next, in seconds.
const MEAN_CYCLE: f64 = 60.0;
/// The exponent of the lengths of busy and silent periods.
const STRETCH_TAIL: f64 = 1.5;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::accuracy::tests::{seeds, small_traffic};

    #[test]
    fn a_poisson_process_has_its_rate_and_uneven_gaps() {
        for seed in seeds(3) {
            let mut times = Vec::new();
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            poisson(&mut times, 60.0, 0.0..60_000.0, &mut rng);
            // The tolerance is seven standard deviations.
            assert!(times.len().abs_diff(60_000) < 1_700);
            let long = times.windows(2).filter(|pair| pair[1] - pair[0] > 1.0).count();
            let share = long as f64 / times.len() as f64;
            assert!((share - (-1.0_f64).exp()).abs() < 0.015, "{share}");
        }
    }

    #[test]
    fn a_bursty_source_makes_its_requests_in_a_tenth_of_the_time() {
        for seed in seeds(3) {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let mut requests = 0;
            let mut busy = 0;
            for _ in 0..2_000 {
                let times = on_off(600.0, 30.0, &mut rng);
                requests += times.len();
                busy += times.chunk_by(|a, b| a.floor() >= b.floor()).count();
            }
            let rate = requests as f64 / (2_000.0 * 30.0);
            assert!((500.0..750.0).contains(&rate), "{rate}");
            // Busy periods end within a second, which counts in full.
            let share = busy as f64 / (2_000.0 * 1_800.0);
            assert!((0.08..0.16).contains(&share), "{share}");
        }
    }

    #[test]
    fn times_are_in_order_and_whole_microseconds() {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        for traffic in small_traffic(1_000) {
            for _ in 0..100 {
                let times = traffic.arrivals(&mut rng);
                assert!(times.is_sorted());
                assert!(times.iter().all(|time| time.as_nanos() % 1_000 == 0));
                assert!(times.iter().all(|&time| time >= START));
            }
        }
    }

    #[test]
    fn sources_begin_at_any_time_of_a_window() {
        let near = small_traffic(1).swap_remove(4);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let firsts: Vec<_> = (0..600).map(|_| near.arrivals(&mut rng)[0].as_secs() % 60).collect();
        for quarter in 0..4 {
            let share = firsts.iter().filter(|&&first| first / 15 == quarter).count();
            assert!((90..210).contains(&share), "{share} in quarter {quarter}");
        }
    }

    #[test]
    fn the_number_of_sources_matches_the_requests() {
        let near = small_traffic(600_000).swap_remove(4);
        assert_eq!((near.name, near.sources), ("near the limit", 1_200));
        assert_eq!(near.clone().scaled_to(1).sources, 1);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let requests: usize = (0..near.sources).map(|_| near.arrivals(&mut rng).len()).sum();
        assert!(requests.abs_diff(600_000) < 18_000, "{requests}");
    }
}
