//! The leaky bucket as a meter: the generic cell rate algorithm (ITU-T Recommendation I.371).
//!
//! All that is remembered is when the bucket will have run empty, the *theoretical arrival time*
//! of the next event. An event is allowed while the bucket would not overflow with it.
//!
//! ```text
//!      now                      empty at
//! ──────┼────────────────────────────┼──────► time
//!       ├── used ───────────────────►│
//!       ├── capacity ───────────────────────►│
//!                                    ├ room ►│   so many intervals of it remain
//! ```

use std::time::Duration;

use super::{Charge, Meter, Quota};
use crate::Timestamp;

/// A leaky bucket that is filled by events and refuses what would overflow it.
///
/// ```
/// use waiting_room_core::{Gcra, Meter, Quota, Timestamp};
///
/// let gcra = Gcra::new(&Quota::per_minute(60).burst(2));
/// let (mut state, now) = (0, Timestamp::from_secs(100));
/// assert!(gcra.check(&mut state, 2, now).is_ok());
/// let refused = gcra.check(&mut state, 1, now).unwrap_err();
/// assert_eq!(refused.retry_after, Some(std::time::Duration::from_secs(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    capacity: u64,
    /// In which one of the capacity comes back, in nanoseconds.
    interval: u64,
    /// The capacity in nanoseconds.
    span: u64,
}

impl Gcra {
    /// A bucket for a quota that is valid for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        let (capacity, interval) = (quota.capacity(), quota.interval_nanos());
        Self { capacity, interval, span: capacity.saturating_mul(interval) }
    }

    /// How much of the span is used at `now`; more than all of it for a debt.
    fn backlog(empty_at: u64, now: Timestamp) -> u64 {
        empty_at.saturating_sub(now.as_nanos())
    }
}

impl Meter for Gcra {
    /// When the bucket will be empty, in nanoseconds since the Unix epoch.
    type State = u64;

    fn limit(&self) -> u64 {
        self.capacity
    }

    fn remaining(&self, empty_at: &u64, now: Timestamp) -> u64 {
        self.span.saturating_sub(Self::backlog(*empty_at, now)) / self.interval
    }

    fn wait(&self, empty_at: &u64, cost: u64, now: Timestamp) -> Option<Duration> {
        if cost == 0 {
            return Some(Duration::ZERO);
        }
        if cost > self.capacity {
            return None;
        }
        let room = self.span - cost * self.interval;
        Some(Duration::from_nanos(Self::backlog(*empty_at, now).saturating_sub(room)))
    }

    fn spend(&self, empty_at: &mut u64, cost: u64, now: Timestamp) -> Charge {
        if cost > 0 {
            let from = (*empty_at).max(now.as_nanos());
            *empty_at = from.saturating_add(cost.saturating_mul(self.interval));
        }
        Charge::new(cost, now, *empty_at)
    }

    fn refund(&self, empty_at: &mut u64, charge: &Charge, cost: u64, now: Timestamp) -> Charge {
        // What has leaked out since is not in the bucket any more.
        let left = Self::backlog(charge.mark, now);
        let room = cost.min(charge.cost).saturating_mul(self.interval);
        *empty_at = empty_at.saturating_sub(room.min(left));
        Charge { mark: charge.mark.saturating_sub(room), ..charge.less(cost) }
    }

    fn used(&self, empty_at: &u64, now: Timestamp) -> u64 {
        Self::backlog(*empty_at, now)
    }

    fn replenished_at(&self, empty_at: &u64, now: Timestamp) -> Timestamp {
        Timestamp::from_nanos(*empty_at).max(now)
    }

    fn join(&self, empty_at: &mut u64, other: &u64, _: Timestamp) {
        *empty_at = (*empty_at).max(*other);
    }

    fn take_over(&self, empty_at: &mut u64, _: &Self, now: Timestamp) {
        *empty_at = (*empty_at).min(now.as_nanos().saturating_add(self.span));
    }
}
