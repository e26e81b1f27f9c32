//! What became of the requests that came in one measurement.

use std::time::Duration;

/// What became of the requests that came in one measurement.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// How long those took that were answered in time, from when they were to be sent.
    pub(super) served: Vec<Duration>,
    /// How many were told to come back.
    pub(super) refused: u32,
    /// How many clients left.
    pub(super) gone: u32,
    /// How many had no answer, though nobody had left.
    pub(super) failed: u32,
    /// How much later than drawn each was sent.
    pub(super) late: Vec<Duration>,
    /// How long it was measured.
    pub(super) measured: Duration,
}

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Failed,
    Gone,
    Refused,
    Served(Duration),
}

impl Found {
    pub(super) fn add(&mut self, outcome: Outcome, late: Duration) {
        self.late.push(late);
        match outcome {
            Outcome::Failed => self.failed += 1,
            Outcome::Gone => self.gone += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Served(wait) => self.served.push(wait),
        }
    }

    /// How many were answered in time, a second.
    pub(super) fn per_second(&self) -> f64 {
        float(self.served.len()) / self.measured.as_secs_f64()
    }

    /// These as a share of all that came, in percent.
    pub(super) fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / float(self.late.len())
    }

    pub(super) fn percent_served(&self) -> f64 {
        100.0 * float(self.served.len()) / float(self.late.len())
    }

    /// How long it took those who were served at this rank, in milliseconds; not a number if
    /// nobody was.
    pub(super) fn millis(&self, percent: usize) -> f64 {
        percentile(&self.served, percent)
    }

    /// The same for how much later than drawn they were sent.
    pub(super) fn late_millis(&self, percent: usize) -> f64 {
        percentile(&self.late, percent)
    }
}

fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(rank).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_come_are_served_refused_or_gone() {
        let mut found = Found { measured: Duration::from_secs(2), ..Found::default() };
        for millis in 1..=100 {
            found.add(Outcome::Served(Duration::from_millis(millis)), Duration::ZERO);
        }
        (0..50).for_each(|_| found.add(Outcome::Refused, Duration::ZERO));
        (0..50).for_each(|_| found.add(Outcome::Gone, Duration::from_millis(3)));
        let is = |figure: f64, expected: f64| (figure - expected).abs() < 1e-9;
        assert!(is(found.per_second(), 50.0) && is(found.percent_served(), 50.0));
        assert!(is(found.percent(found.gone), 25.0));
        assert!(is(found.millis(50), 51.0) && is(found.millis(99), 100.0));
        assert!(is(found.late_millis(99), 3.0) && Found::default().millis(50).is_nan());
    }
}
