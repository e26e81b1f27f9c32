//! The leaky bucket as a queue: requests that arrive faster than the rate are held until their
//! turn.
//!
//! One request with a cost of one leaves the queue per interval. A request with a higher cost takes
//! up as many intervals as its cost. The state of a key is the time of the next free departure. The
//! first request in an idle queue leaves at once, and each further request leaves one interval
//! after its predecessor. A request that does not fit within the capacity is refused.
//!
//! ```text
//!      now                      free at
//! ──────┼──────┼──────┼──────┼──────┼──────┼──────► time
//!     leaves leaves leaves leaves   ?
//!       ├── delay of the next ─────►│
//!       ├── capacity ─────────────────────►│
//! ```
//!
//! A leaky queue allows exactly the requests that [GCRA](Gcra) allows. The difference is that the
//! requests reach the service evenly spaced. The queue does not store requests: it returns a
//! *delay* for each request, and the caller has to wait.

use super::{Charge, Gcra, Quota, gcra::Bucket};
use crate::Timestamp;

/// The [leaky queue](super::Algorithm::LeakyQueue), which assigns a delay to each request, and
/// refuses requests that do not fit into the queue.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Quota, Timestamp, rate::meters::{LeakyQueue, Meter}};
///
/// let queue = LeakyQueue::new(&Quota::per_minute(60).burst(3));
/// let mut state = 0;
/// let now = Timestamp::from_secs(100);
/// for turn in 0..3 {
///     let (decision, _) = queue.check(&mut state, 1, now).unwrap();
///     assert_eq!(decision.delay, Duration::from_secs(turn));
/// }
/// assert!(queue.check(&mut state, 1, now).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakyQueue {
    /// The meter that counts the departures that have been assigned to requests.
    places: Gcra,
}

impl LeakyQueue {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        Self { places: Gcra::new(quota) }
    }
}

impl Bucket for LeakyQueue {
    #[inline]
    fn gcra(&self) -> &Gcra {
        &self.places
    }

    #[inline]
    fn delay_nanos(&self, free_at: u64, now: Timestamp) -> u64 {
        free_at.saturating_sub(now.as_nanos())
    }
    /// Only the last request in the queue can give up its departure. If there are later requests,
    /// their delays have already been assigned, so the departure of an earlier request stays
    /// unused.
    #[inline]
    fn is_refundable(&self, free_at: u64, charge: &Charge) -> bool {
        charge.mark == free_at
    }
}
