//! A count of the keys that a limiter tracks, and of those that are near the limit.

use super::Meter;
use crate::Timestamp;

/// The number of keys that a limiter tracks, and the number of keys that are near the limit.
///
/// A key that is near its limit is either an offender or a client for whom the limit is too low. If
/// a limit in use has no keys near it, the limit has no effect.
///
/// ```
/// use waiting_room_core::{Limiter, Quota, Timestamp, rate::{Algorithm, KeyHasher}};
///
/// let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_minute(2)], 1_000)?;
/// let hasher = KeyHasher::new([1, 2, 3, 4]);
/// let now = Timestamp::from_secs(1_000);
/// for key in ["ann", "bob", "bob"] {
///     assert!(limiter.charge(hasher.hash(key), 0, 1, now).is_ok());
/// }
/// let census = limiter.census(now);
/// assert_eq!((census.tracked, census.near_limit), (2, 1));
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct KeyCensus {
    /// The number of keys that have a place in the table, whether or not they are in use.
    pub tracked: u64,
    /// The number of keys that have at most a fifth of their limit left.
    pub near_limit: u64,
    /// Whether the numbers are estimates, because only a part of the table was visited.
    pub is_estimate: bool,
}

impl KeyCensus {
    /// Counts one key.
    pub(super) fn count<M: Meter>(&mut self, meter: &M, state: &M::State, now: Timestamp) {
        self.tracked += 1;
        let limit = meter.limit();
        // A fifth of a small limit is rounded down, so that a key near its limit has at most one
        // unit left of a limit of 5, and none left of a limit of 4.
        if meter.remaining(state, now) <= limit / 5 {
            self.near_limit += 1;
        }
    }

    /// Estimates the numbers of a whole table from those of the visited part.
    pub(super) fn scaled(self, share: f64) -> Self {
        if share >= 1.0 {
            return self;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "an estimate of a number of keys, which is positive and below 2^53"
        )]
        let scale = |keys: u64| (keys as f64 / share).round() as u64;
        Self { tracked: scale(self.tracked), near_limit: scale(self.near_limit), is_estimate: true }
    }

    /// Adds the numbers of two tables.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            tracked: self.tracked + other.tracked,
            near_limit: self.near_limit + other.near_limit,
            is_estimate: self.is_estimate || other.is_estimate,
        }
    }
}
