//! How long visitors waited for their answers.

use std::time::Duration;

use hdrhistogram::Histogram;

/// How long requests took, from the departure to the head of the answer.
#[derive(Clone, Debug)]
pub struct Latencies {
    calm: Histogram<u64>,
    troubled: Histogram<u64>,
    decisions: Histogram<u64>,
}

impl Latencies {
    /// Longer ones are counted as this one.
    const LONGEST: Duration = Duration::from_secs(60);

    pub(super) fn new() -> Self {
        let longest = micros(Self::LONGEST);
        let empty = Histogram::new_with_bounds(1, longest, 3)
            .expect("three digits of a minute are within the range of a histogram");
        Self { calm: empty.clone(), troubled: empty.clone(), decisions: empty }
    }

    /// A visitor with a pass was answered, while all was well or not.
    pub(super) fn passed(&mut self, took: Duration, in_trouble: bool) {
        let passed = if in_trouble { &mut self.troubled } else { &mut self.calm };
        passed.saturating_record(micros(took));
    }

    /// It was decided on a visitor without a pass.
    pub(super) fn decided(&mut self, took: Duration) {
        self.decisions.saturating_record(micros(took));
    }

    /// What 99 in 100 requests with a pass took at most, while all was well.
    #[must_use]
    pub fn pass_p99_calm(&self) -> Duration {
        p99(&self.calm)
    }

    /// What 99 in 100 requests with a pass took at most, while something was wrong.
    #[must_use]
    pub fn pass_p99_troubled(&self) -> Duration {
        p99(&self.troubled)
    }

    /// How many requests with a pass there were while something was wrong.
    #[must_use]
    pub fn passes_troubled(&self) -> u64 {
        self.troubled.len()
    }

    /// How many decisions there were.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions.len()
    }

    /// How many decisions took longer than this.
    #[must_use]
    pub fn decisions_over(&self, deadline: Duration) -> u64 {
        self.decisions.count_between(self.decisions.next_non_equivalent(micros(deadline)), u64::MAX)
    }

    /// The slowest decision.
    #[must_use]
    pub fn slowest_decision(&self) -> Duration {
        Duration::from_micros(self.decisions.max())
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
    fn calm_and_trouble_are_told_apart_and_slow_decisions_are_counted() {
        let millis = Duration::from_millis;
        let mut latencies = Latencies::new();
        (0..98).for_each(|_| latencies.passed(millis(1), false));
        latencies.passed(millis(80), true);
        (1..=60).for_each(|took| latencies.decided(millis(took)));
        assert!(
            latencies.pass_p99_calm() < millis(2) && latencies.pass_p99_troubled() >= millis(80)
        );
        assert_eq!((latencies.passes_troubled(), latencies.decisions()), (1, 60));
        assert_eq!(latencies.decisions_over(millis(50)), 10);
        assert_eq!(latencies.slowest_decision().as_millis(), 60);
    }
}
