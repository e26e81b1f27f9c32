//! The token bucket: tokens come at the rate, are kept up to the capacity, and pay for events.
//!
//! Nobody counts tokens. All that is remembered is when the bucket will be full again; as many
//! tokens are missing as there are intervals until then.
//!
//! ```text
//!           now                    full at
//! ───────────┼────────────────────────┼──────► time
//!            ├── missing ────────────►│
//! ├ tokens ─►┤                        │
//! ├── capacity ──────────────────────►│
//! ```
//!
//! Seen from the other side this is [GCRA](Gcra): what leaks out of its bucket is a token in this
//! one, and its room is our tokens. Both allow the same events at the same times, so there is one
//! arithmetic for both. The name is for those who think in tokens, and for configurations that
//! come from elsewhere.

use std::time::Duration;

use super::{Charge, Gcra, Meter, Quota};
use crate::Timestamp;

/// A bucket of tokens that come one in every interval, and not at the end of each minute.
///
/// A bucket that has been full for long holds no more than the capacity, and so does that of a key
/// that was never seen.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Meter, Quota, Timestamp, TokenBucket};
///
/// // Four tokens, and one more every 15 seconds.
/// let bucket = TokenBucket::new(&Quota::per_minute(4));
/// let (mut state, now) = (0, Timestamp::from_secs(100));
/// assert!(bucket.check(&mut state, 3, now).is_ok());
/// assert_eq!(bucket.remaining(&state, now), 1);
/// assert_eq!(bucket.wait(&state, 2, now), Some(Duration::from_secs(15)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    missing: Gcra,
}

impl TokenBucket {
    /// A bucket for a quota that is valid for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        Self { missing: Gcra::new(quota) }
    }
}

impl Meter for TokenBucket {
    /// When the bucket will be full, in nanoseconds since the Unix epoch.
    type State = u64;

    fn limit(&self) -> u64 {
        self.missing.limit()
    }

    fn remaining(&self, full_at: &u64, now: Timestamp) -> u64 {
        self.missing.remaining(full_at, now)
    }

    fn wait(&self, full_at: &u64, cost: u64, now: Timestamp) -> Option<Duration> {
        self.missing.wait(full_at, cost, now)
    }

    fn spend(&self, full_at: &mut u64, cost: u64, now: Timestamp) -> Charge {
        self.missing.spend(full_at, cost, now)
    }

    fn refund(&self, full_at: &mut u64, charge: &Charge, cost: u64, now: Timestamp) -> Charge {
        self.missing.refund(full_at, charge, cost, now)
    }

    fn used(&self, full_at: &u64, now: Timestamp) -> u64 {
        self.missing.used(full_at, now)
    }

    fn replenished_at(&self, full_at: &u64, now: Timestamp) -> Timestamp {
        self.missing.replenished_at(full_at, now)
    }

    fn join(&self, full_at: &mut u64, other: &u64, _: Timestamp) {
        *full_at = (*full_at).max(*other);
    }

    fn take_over(&self, full_at: &mut u64, from: &Self, now: Timestamp) {
        self.missing.take_over(full_at, &from.missing, now);
    }
}
