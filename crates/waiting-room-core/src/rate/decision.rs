//! The result of asking a rate limit, and the receipt for what was charged.

use std::time::Duration;

use crate::Timestamp;

/// The decision of a rate limit about one request.
///
/// The numbers are exact for a key that is used by no other request in the meantime: waiting for
/// exactly [`retry_after`](Self::retry_after) is enough, and one nanosecond less is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the cost is within the limit. If not, nothing was spent.
    pub allowed: bool,
    /// The most that can be spent at once: the quota's burst if it has one, else its limit.
    pub limit: u64,
    /// The amount that can still be spent at this time, after this request.
    pub remaining: u64,
    /// The time until [`remaining`](Self::remaining) grows; zero if it equals the limit.
    pub reset: Duration,
    /// The time until the same cost is allowed: zero if it is allowed now, `None` if it exceeds the
    /// limit and never will be.
    pub retry_after: Option<Duration>,
    /// The time to hold an allowed request before it continues. It is zero for all algorithms but
    /// the leaky queue.
    pub delay: Duration,
}

impl Decision {
    /// Creates a decision from these numbers, for a [`Meter`](crate::rate::Meter) or a store.
    ///
    /// The request is allowed if `retry_after` is zero.
    #[must_use]
    pub const fn new(
        limit: u64,
        remaining: u64,
        reset: Duration,
        retry_after: Option<Duration>,
    ) -> Self {
        let allowed = matches!(retry_after, Some(Duration::ZERO));
        Self { allowed, limit, remaining, reset, retry_after, delay: Duration::ZERO }
    }

    /// Sets the time for which the request is held before it continues.
    #[must_use]
    pub const fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// A receipt for what was spent, with which the cost can be corrected or given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charge {
    /// The amount that was spent.
    pub cost: u64,
    /// The time at which it was spent.
    pub at: Timestamp,
    /// The position of the algorithm after the charge, by which a refund finds the amount to give
    /// back.
    ///
    /// It is a time in nanoseconds since the Unix epoch: for the buckets and the leaky queue when
    /// the state will be empty again, for windows and counters the start of the window, for a log
    /// the time of the event.
    pub mark: u64,
}

impl Charge {
    /// Creates a receipt from these values.
    #[must_use]
    pub const fn new(cost: u64, at: Timestamp, mark: u64) -> Self {
        Self { cost, at, mark }
    }

    /// The receipt for what is left after `cost` of it has been given back.
    pub(super) const fn less(self, cost: u64) -> Self {
        Self { cost: self.cost.saturating_sub(cost), ..self }
    }
}
