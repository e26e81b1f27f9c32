//! What a rate limit says, in numbers that can be relied on.

use std::time::Duration;

use crate::Timestamp;

/// What a rate limit says to one request.
///
/// The numbers are promises for a client that nobody competes with: waiting exactly
/// [`retry_after`](Self::retry_after) is enough, and a nanosecond less is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the cost is within the limit. If not, nothing was spent.
    pub allowed: bool,
    /// The most that can be spent at once.
    pub limit: u64,
    /// How much can be spent now, after this request.
    pub remaining: u64,
    /// How long until [`remaining`](Self::remaining) grows; zero if it is at the limit.
    pub reset: Duration,
    /// How long until the same cost is allowed: zero if it is now, `None` if it never will be.
    pub retry_after: Option<Duration>,
    /// How long to hold an allowed request before it goes on; more than zero for the leaky queue
    /// alone.
    pub delay: Duration,
}

impl Decision {
    /// A decision with these numbers, for a [`Meter`](crate::Meter) or a store.
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

    /// The same decision for a request that is to be held for so long.
    #[must_use]
    pub const fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// What was spent, as a receipt: with it the cost can be corrected, or given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charge {
    /// How much.
    pub cost: u64,
    /// When.
    pub at: Timestamp,
    /// Where the algorithm stood after it, in its own terms.
    pub mark: u64,
}

impl Charge {
    /// A receipt for this.
    #[must_use]
    pub const fn new(cost: u64, at: Timestamp, mark: u64) -> Self {
        Self { cost, at, mark }
    }

    /// The receipt for the rest, when `cost` of it has been given back.
    pub(super) const fn less(self, cost: u64) -> Self {
        Self { cost: self.cost.saturating_sub(cost), ..self }
    }
}
