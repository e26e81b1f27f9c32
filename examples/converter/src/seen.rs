//! The observations of the clients.

use serde::{Deserialize, Serialize};

/// The observations of one client, or of all clients together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// The time from the first request to the picture, for each picture.
    pub(crate) waits_us: Vec<u64>,
    /// The number of pictures, for each client.
    pub(crate) served_each: Vec<usize>,
    /// The response times of the health check.
    pub(crate) health_us: Vec<u64>,
    /// The number of requests refused with 429.
    pub(crate) refused: u64,
    /// The number of requests that timed out in the queue (504).
    pub(crate) timed_out: u64,
    /// The number of requests without a response, or with an unexpected one.
    pub(crate) troubles: u64,
    /// The number of pictures that were never converted, although the client kept trying.
    pub(crate) unserved: u64,
}

/// Quantiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantiles {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl Seen {
    /// The observations of one client that was served once.
    #[cfg(test)]
    pub(crate) fn of_one_served() -> Self {
        Self { waits_us: vec![1_000], served_each: vec![1], ..Self::default() }
    }

    /// Adds the observations of another client.
    pub(crate) fn add(&mut self, other: Self) {
        self.waits_us.extend(other.waits_us);
        self.served_each.extend(other.served_each);
        self.health_us.extend(other.health_us);
        self.refused += other.refused;
        self.timed_out += other.timed_out;
        self.troubles += other.troubles;
        self.unserved += other.unserved;
    }

    /// The number of converted pictures.
    pub(crate) fn served(&self) -> usize {
        self.waits_us.len()
    }

    /// The lowest and the highest number of pictures of a client.
    pub(crate) fn fewest_and_most(&self) -> (usize, usize) {
        let each = || self.served_each.iter().copied();
        (each().min().unwrap_or(0), each().max().unwrap_or(0))
    }

    /// The times until pictures were converted.
    pub(crate) fn waits(&self) -> Quantiles {
        Quantiles::of(&self.waits_us)
    }

    /// The response times of the health check.
    pub(crate) fn health(&self) -> Quantiles {
        Quantiles::of(&self.health_us)
    }
}

impl Quantiles {
    fn of(times_us: &[u64]) -> Self {
        let mut times = times_us.to_vec();
        times.sort_unstable();
        let of_hundred = |percent: usize| {
            let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(index).map_or(0.0, |&micros| micros as f64 / 1e3)
        };
        Self { p50_ms: of_hundred(50), p99_ms: of_hundred(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_times_are_no_longer_and_ninety_nine_of_a_hundred() {
        let of = |times: &[u64]| Quantiles::of(times);
        let hundred: Vec<u64> = (1..=100).rev().map(|millis| 1_000 * millis).collect();
        assert_eq!(of(&hundred), Quantiles { p50_ms: 50.0, p99_ms: 99.0 });
        assert_eq!(of(&[7_000]), Quantiles { p50_ms: 7.0, p99_ms: 7.0 });
        assert_eq!(of(&[]), Quantiles { p50_ms: 0.0, p99_ms: 0.0 });
    }

    #[test]
    fn merged_records_contain_all_values() {
        let one = |served: usize, refused| Seen {
            waits_us: vec![1_000; served],
            served_each: vec![served],
            refused,
            ..Seen::default()
        };
        let mut all = one(3, 1);
        all.add(one(5, 2));
        assert_eq!((all.served(), all.fewest_and_most(), all.refused), (8, (3, 5), 3));
    }
}
