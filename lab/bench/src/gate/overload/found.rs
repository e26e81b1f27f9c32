//! The outcomes of the requests in one measurement.

use std::time::Duration;

/// The outcomes of the requests in one measurement.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The times of the requests that were answered in time, from their intended arrivals.
    pub(super) served: Vec<Duration>,
    /// The number of refused requests.
    pub(super) refused: u32,
    /// The number of clients that left.
    pub(super) gone: u32,
    /// The number of requests without an answer, although the client had not left.
    pub(super) failed: u32,
    /// The delay between the intended and the actual sending of each request.
    pub(super) late: Vec<Duration>,
    /// The duration of the measurement.
    pub(super) measured: Duration,
}

/// The outcome of one request.
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

    /// The requests per second that were answered in time.
    pub(super) fn per_second(&self) -> f64 {
        float(self.served.len()) / self.measured.as_secs_f64()
    }

    /// A number of requests in percent of all.
    pub(super) fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / float(self.late.len())
    }

    pub(super) fn percent_served(&self) -> f64 {
        100.0 * float(self.served.len()) / float(self.late.len())
    }

    /// A percentile of the times of served requests, in milliseconds; NaN if there are none.
    pub(super) fn millis(&self, percent: usize) -> f64 {
        percentile(&self.served, percent)
    }

    /// A percentile of the delays of sending, in milliseconds.
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
    fn every_client_is_served_refused_or_gone() {
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
