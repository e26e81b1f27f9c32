//! The outcome for the clients of one source.

use std::time::Duration;

/// The outcome for the clients of one source, during the measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// The number of clients that arrived during the measured time.
    pub(super) came: u64,
    /// The number of these clients that were answered before they lost patience.
    pub(super) succeeded: u64,
    /// The number of answers completed during the measured time before their clients lost patience,
    /// whenever those arrived.
    pub(super) useful: u64,
    /// The times from arrival to answer, for all answers completed during the measured time, useful
    /// or not.
    pub(super) latencies: Vec<Duration>,
    /// The total service time of these answers.
    pub(super) held: Duration,
}

impl Tally {
    /// The sum of the tallies of several sources.
    pub(super) fn sum(tallies: &[Self]) -> Self {
        let mut sum = Self::default();
        tallies.iter().for_each(|tally| sum.add(tally));
        sum
    }

    fn add(&mut self, other: &Self) {
        self.came += other.came;
        self.succeeded += other.succeeded;
        self.useful += other.useful;
        self.latencies.extend_from_slice(&other.latencies);
        self.held += other.held;
    }

    /// The share of clients that were answered in time, in percent.
    pub(super) fn success(&self) -> f64 {
        percent(self.succeeded as f64, self.came as f64)
    }

    /// Useful answers, in percent of what this number of permits could have served in this time,
    /// given the mean service time of this run.
    pub(super) fn goodput(&self, limit: u32, time: Duration) -> f64 {
        let mean_hold = self.held.as_secs_f64() / self.latencies.len() as f64;
        percent(self.useful as f64, f64::from(limit) * time.as_secs_f64() / mean_hold)
    }

    /// The latency in milliseconds at this quantile, from 0 to 1. Not a number if there were no
    /// answers.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let rank = (share * latencies.len() as f64).ceil() as usize;
        let found = latencies.get(rank.max(1) - 1);
        found.map_or(f64::NAN, |latency| 1_000.0 * latency.as_secs_f64())
    }
}

pub(super) fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_times_is_beyond_the_99th_percentile() {
        let latencies = (1..=100).rev().map(Duration::from_millis).collect();
        let tally = Tally { latencies, ..Tally::default() };
        let percentiles = [0.5, 0.99, 1.0].map(|share| format!("{:.0}", tally.percentile(share)));
        assert_eq!(percentiles, ["50", "99", "100"]);
        assert!(Tally::default().percentile(0.5).is_nan());
    }

    #[test]
    fn permits_that_are_never_idle_and_serve_all_in_time_are_all_of_the_capacity() {
        let tally = Tally {
            useful: 200,
            latencies: vec![Duration::from_millis(70); 200],
            held: Duration::from_secs(4),
            ..Tally::default()
        };
        let goodput = |useful| Tally { useful, ..tally.clone() }.goodput(4, Duration::from_secs(1));
        assert!((goodput(200) - 100.0).abs() < 1e-9);
        assert!((goodput(50) - 25.0).abs() < 1e-9);
    }
}
