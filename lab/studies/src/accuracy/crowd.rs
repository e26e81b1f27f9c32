//! A realistic crowd: clients who arrive as busily as the trace of a day, and look at pages.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use waiting_room_sim::Trace;

use super::rates::{TAIL, exponential, log_normal, pareto};

/// Clients whose first requests are distributed over a day like the requests of a trace.
///
/// Each client visits once, for a number of pages from a heavy-tailed distribution, and requests
/// the parts of a page in quick succession. The mean time that a client spends between two pages
/// varies among clients and is lognormal.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    /// The number of requests of the trace up to the end of each minute.
    sums: Vec<f64>,
}

impl Crowd {
    /// The approximate mean number of requests of a client. Some visits are cut off by the end of
    /// the day.
    pub(super) const MEAN_REQUESTS: f64 = 45.0;

    pub(crate) fn new(trace: &Trace) -> Self {
        let mut sum = 0.0;
        let sums = trace.counts().iter().map(|count| {
            sum += count;
            sum
        });
        Self { sums: sums.collect() }
    }

    /// Draws the times of one client, in seconds from the beginning of the day.
    pub(super) fn client(&self, rng: &mut Pcg64Mcg) -> Vec<f64> {
        let mut now = self.first(rng);
        let end = 60.0 * self.sums.len() as f64;
        let thinks = log_normal(MEDIAN_SECONDS_TO_THINK, 1.0, rng);
        let mut pages = pareto(1.0, TAIL, rng).min(MOST_PAGES);
        let mut times = Vec::new();
        while pages >= 1.0 && now < end {
            let mut parts = 1.0 + exponential(MEAN_FURTHER_PARTS, rng);
            while parts >= 1.0 && now < end {
                times.push(now);
                now += exponential(MEAN_SECONDS_BETWEEN_PARTS, rng);
                parts -= 1.0;
            }
            now += exponential(thinks, rng);
            pages -= 1.0;
        }
        times
    }

    /// Draws the time of a client's first request.
    fn first(&self, rng: &mut Pcg64Mcg) -> f64 {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let drawn = total * rng.random::<f64>();
        let minute = self.sums.partition_point(|&sum| sum <= drawn);
        60.0 * (minute as f64 + rng.random::<f64>())
    }
}

const MEDIAN_SECONDS_TO_THINK: f64 = 20.0;
const MEAN_SECONDS_BETWEEN_PARTS: f64 = 0.1;
/// A page and its images make eight requests on average, since the drawn number is rounded down.
const MEAN_FURTHER_PARTS: f64 = 7.5;
const MOST_PAGES: f64 = 10_000.0;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::accuracy::tests::seeds;

    #[test]
    fn clients_come_when_the_trace_is_busy() {
        for seed in seeds(3) {
            let crowd = Crowd::new(&[0, 300, 0, 100].into_iter().collect());
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let firsts: Vec<_> = (0..40_000).map(|_| crowd.client(&mut rng)[0] / 60.0).collect();
            let in_minute = |minute: f64| {
                firsts.iter().filter(|&&first| (minute..minute + 1.0).contains(&first)).count()
            };
            assert_eq!((in_minute(0.0), in_minute(2.0)), (0, 0));
            assert!(in_minute(1.0).abs_diff(30_000) < 1_000);
            assert_eq!(in_minute(1.0) + in_minute(3.0), firsts.len());
        }
    }

    #[test]
    fn a_client_makes_about_the_given_number_of_requests() {
        for seed in seeds(3) {
            let crowd = Crowd::new(&[100; 1_440].into_iter().collect());
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let requests: usize = (0..50_000).map(|_| crowd.client(&mut rng).len()).sum();
            let ratio = requests as f64 / (50_000.0 * Crowd::MEAN_REQUESTS);
            assert!((0.8..1.2).contains(&ratio), "{ratio}");
        }
    }
}
