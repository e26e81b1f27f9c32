//! The response times that visitors saw.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Response times, from sending a request to the head of the response.
#[derive(Clone, Debug)]
pub struct Latencies {
    calm: Histogram<u64>,
    troubled: Histogram<u64>,
    decisions: Histogram<u64>,
}

impl Latencies {
    /// The longest time that is recorded. Longer ones count as this one.
    const LONGEST: Duration = Duration::from_secs(60);

    pub(crate) fn new() -> Self {
        let longest = micros(Self::LONGEST);
        let empty = Histogram::new_with_bounds(1, longest, 3)
            .expect("three digits of a minute are within the range of a histogram");
        Self { calm: empty.clone(), troubled: empty.clone(), decisions: empty }
    }

    /// Records the response time of a request with a pass, during a fault or without one.
    pub(crate) fn passed(&mut self, took: Duration, in_trouble: bool) {
        if in_trouble { &mut self.troubled } else { &mut self.calm }
            .saturating_record(micros(took));
    }

    /// Records the response time of a request without a pass, which needs a decision.
    pub(crate) fn decided(&mut self, took: Duration) {
        self.decisions.saturating_record(micros(took));
    }

    /// The 99th percentile of requests with a pass, while there is no fault.
    #[must_use]
    pub fn pass_p99_calm(&self) -> Duration {
        p99(&self.calm)
    }

    /// The 99th percentile of requests with a pass, during a fault.
    #[must_use]
    pub fn pass_p99_troubled(&self) -> Duration {
        p99(&self.troubled)
    }

    /// The number of decisions.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions.len()
    }

    /// The number of decisions that took longer than `deadline`.
    #[must_use]
    pub fn decisions_over(&self, deadline: Duration) -> u64 {
        self.decisions.count_between(self.decisions.next_non_equivalent(micros(deadline)), u64::MAX)
    }
}

fn p99(histogram: &Histogram<u64>) -> Duration {
    Duration::from_micros(histogram.value_at_quantile(0.99))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calm_and_disturbed_times_are_separate_and_slow_decisions_are_counted() {
        let millis = Duration::from_millis;
        let mut latencies = Latencies::new();
        (0..98).for_each(|_| latencies.passed(millis(1), false));
        latencies.passed(millis(80), true);
        (1..=60).for_each(|took| latencies.decided(millis(took)));
        assert!(
            latencies.pass_p99_calm() < millis(2) && latencies.pass_p99_troubled() >= millis(80)
        );
        assert_eq!((latencies.decisions(), latencies.decisions_over(millis(50))), (60, 10));
    }
}
