//! What became of the clients of one source.

use std::time::Duration;

/// What became of the clients of one source, in the time in which is counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Who came in that time.
    pub(super) came: u64,
    /// Those of them who had their answer in time.
    pub(super) succeeded: u64,
    /// Answers that were finished in that time and in time for their clients, whenever those came.
    pub(super) useful: u64,
    /// From coming to the answer, for each that was finished in that time, useful or not.
    pub(super) latencies: Vec<Duration>,
    /// For how long these ran.
    pub(super) held: Duration,
}

impl Tally {
    /// The tally of several sources together.
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

    /// Which share of those who came had their answer in time, in percent.
    pub(super) fn success(&self) -> f64 {
        percent(self.succeeded as f64, self.came as f64)
    }

    /// Useful answers in percent of what so many permits could have served in this time, of
    /// requests that run for as long as these did.
    pub(super) fn goodput(&self, limit: u32, time: Duration) -> f64 {
        let mean_hold = self.held.as_secs_f64() / self.latencies.len() as f64;
        percent(self.useful as f64, f64::from(limit) * time.as_secs_f64() / mean_hold)
    }

    /// The time within which such a share of the answers came, in milliseconds. Without any there
    /// is none.
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
    fn the_99th_percentile_is_the_time_that_one_of_a_hundred_is_beyond() {
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
