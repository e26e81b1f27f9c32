//! A rate limit's decision on a request, and the receipt for what was charged.

use std::time::Duration;

use crate::Timestamp;

/// A rate limit's decision on one request.
///
/// The numbers in a decision are exact as long as no other request uses the key in the meantime. A
/// client that waits for exactly [`retry_after`](Self::retry_after) is allowed, and a client that
/// waits for one nanosecond less is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the cost is within the limit. Nothing is spent for a request that is not allowed.
    pub allowed: bool,
    /// The maximum amount that can be spent at once: the burst of the quota if one is set, or
    /// otherwise the limit of the quota.
    pub limit: u64,
    /// The amount that can still be spent immediately after this request.
    pub remaining: u64,
    /// The time until [`remaining`](Self::remaining) increases, or zero if `remaining` equals the
    /// limit.
    pub reset: Duration,
    /// The time until the same cost is allowed: zero if it is allowed now, or `None` if it exceeds
    /// the limit and will never be allowed.
    pub retry_after: Option<Duration>,
    /// The time for which an allowed request is held before it continues. The delay is zero for
    /// every algorithm except the leaky queue.
    pub delay: Duration,
}

impl Decision {
    /// Creates a decision from the given numbers, for a [`Meter`](crate::rate::Meter) or a store.
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

/// The receipt for a charge, which is needed to correct or refund the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charge {
    /// The amount that was spent.
    pub cost: u64,
    /// The time at which the amount was spent.
    pub at: Timestamp,
    /// The algorithm's position after the charge, which determines how much a refund can return.
    ///
    /// The position is a time in nanoseconds since the Unix epoch. For the buckets and the leaky
    /// queue, it is the time at which everything spent so far will have been replenished. For
    /// windows and counters, it is the start of the window. For a log, it is the time of the event.
    pub mark: u64,
}

impl Charge {
    /// Creates a receipt from these values.
    #[must_use]
    pub const fn new(cost: u64, at: Timestamp, mark: u64) -> Self {
        Self { cost, at, mark }
    }

    /// Returns the receipt for what remains of the charge after `cost` has been refunded.
    pub(super) const fn less(self, cost: u64) -> Self {
        Self { cost: self.cost.saturating_sub(cost), ..self }
    }
}
