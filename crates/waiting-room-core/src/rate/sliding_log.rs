//! The sliding log, which never allows more than the limit in *any* window.
//!
//! The log stores the times of the most recent events, up to as many as the limit allows. To decide
//! whether one more event is allowed, the log reads a single entry: the one that is `limit` places
//! from the end. If this entry has left the window, all older entries have also left it.
//!
//! ```text
//!           ├──────── window ────────┤ now
//!    │   │  │ │       │    │  │      ┆
//!        ▲ with a limit of 6, another is allowed because this one is outside
//! ```
//!
//! All events at the same time are stored as one run of eight bytes, so a cost of a million uses no
//! more memory than a cost of one.
//!
//! Time is counted in ticks. The length of a tick is the smallest power of ten, in nanoseconds, for
//! which the window has fewer than 2³¹ ticks: 100 ns for a window of one minute, and 10 µs for a
//! window of one hour. Times are rounded up when they are stored and down when they are compared,
//! and the window is rounded up. No window of real time therefore ever contains more events than
//! the limit, but a request may wait up to two ticks longer than necessary.

use std::{mem, time::Duration};

use super::{Charge, Meter, Quota, Refusals, TickLog};
use crate::Timestamp;

/// The [sliding log](super::Algorithm::SlidingLog): the times of all events within the window, for
/// a limit that is exact.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Quota, Timestamp, rate::{Refusals, meters::{Meter, SlidingLog}}};
///
/// let log = SlidingLog::new(&Quota::per_minute(2), Refusals::Ignore);
/// let mut state = Default::default();
/// let start = Timestamp::from_secs(100);
/// log.spend(&mut state, 1, start);
/// log.spend(&mut state, 1, start + Duration::from_secs(29));
///
/// let now = start + Duration::from_secs(49);
/// assert_eq!(log.wait(&state, 1, now), Some(Duration::from_secs(11)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLog {
    limit: u32,
    refusals: Refusals,
    /// The length of a tick, in nanoseconds.
    tick: u64,
    /// The length of the window, in ticks, rounded up.
    window: u64,
}

impl SlidingLog {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota, refusals: Refusals) -> Self {
        let limit = u32::try_from(quota.limit()).unwrap_or(u32::MAX);
        let mut tick = 1;
        while quota.window_nanos() / tick >= MAX_WINDOW_TICKS {
            tick *= 10;
        }
        Self { limit, refusals, tick, window: quota.window_nanos().div_ceil(tick) }
    }

    /// The maximum memory for the runs of one key, in bytes. The maximum is reached when the limit
    /// is used up by events that all have different times.
    pub(super) fn bytes(quota: &Quota) -> u64 {
        quota.limit().saturating_mul(TickLog::BYTES_PER_RUN as u64)
    }

    /// Records `cost` events at `now`, after removing the events that have left the window.
    fn record(&self, log: &mut TickLog, cost: u64, now: Timestamp) {
        log.drop_before(self.since(now));
        log.push(now.as_nanos().div_ceil(self.tick), cost, self.limit);
    }

    /// The first tick of the window that ends at `now`.
    fn since(&self, now: Timestamp) -> u64 {
        (now.as_nanos() / self.tick).saturating_sub(self.window - 1)
    }
}

impl Meter for SlidingLog {
    type State = TickLog;

    fn limit(&self) -> u64 {
        self.limit.into()
    }

    fn remaining(&self, log: &TickLog, now: Timestamp) -> u64 {
        self.limit().saturating_sub(self.used(log, now))
    }

    fn wait(&self, log: &TickLog, cost: u64, now: Timestamp) -> Option<Duration> {
        if cost == 0 {
            return Some(Duration::ZERO);
        }
        let room = self.limit().checked_sub(cost)?;
        let Some(in_the_way) = u64::from(log.len()).checked_sub(room + 1) else {
            return Some(Duration::ZERO);
        };
        let in_the_way = u32::try_from(in_the_way).expect("an index is less than the log's length");
        let event = log.tick(in_the_way);
        let tick = now.as_nanos() / self.tick;
        // The event leaves the window when it is `window` ticks old. If the clock has jumped back
        // to a time before the event, `ahead` is the time until the event; otherwise, `age` is the
        // time since the event. At least one of `ahead` and `age` is zero.
        let ahead = event.saturating_sub(tick);
        let age = tick.saturating_sub(event);
        let nanos = match ahead.saturating_add(self.window).saturating_sub(age) {
            0 => 0,
            ticks => ticks.saturating_mul(self.tick) - now.as_nanos() % self.tick,
        };
        Some(Duration::from_nanos(nanos))
    }

    fn spend(&self, log: &mut TickLog, cost: u64, now: Timestamp) -> Charge {
        if cost > 0 {
            self.record(log, cost, now);
        }
        Charge::new(cost, now, log.newest().saturating_mul(self.tick))
    }

    fn refund(&self, log: &mut TickLog, charge: &Charge, cost: u64, now: Timestamp) -> Charge {
        // Events that had left the window when the newest event was recorded are gone for good,
        // even if the clock has jumped back since then. Such an event cannot take the place of a
        // removed event.
        let newest = log.newest().saturating_sub(self.window);
        let since = self.since(now).max(newest);
        log.remove(charge.mark.div_ceil(self.tick), cost.min(charge.cost), since, self.limit);
        charge.less(cost)
    }

    fn used(&self, log: &TickLog, now: Timestamp) -> u64 {
        u64::from(log.len() - log.count_before(self.since(now)))
    }

    fn refused(&self, log: &mut TickLog, cost: u64, now: Timestamp) {
        if self.refusals == Refusals::Count {
            self.record(log, cost, now);
        }
    }

    fn replenished_at(&self, log: &TickLog, now: Timestamp) -> Timestamp {
        if self.used(log, now) == 0 {
            return now;
        }
        let last = log.newest().saturating_add(self.window).saturating_mul(self.tick);
        Timestamp::from_nanos(last).max(now)
    }

    /// Merges two logs: the result has the larger of the two event counts, with every event at the
    /// latest time in either log.
    ///
    /// The joined log consists of a single run, so the shared states of a table stay small.
    fn join(&self, log: &mut TickLog, other: &TickLog, now: Timestamp) {
        let events = self.used(log, now).max(self.used(other, now));
        let newest = log.newest().max(other.newest());
        *log = TickLog::default();
        if events > 0 {
            log.push(newest, events, self.limit);
        }
    }

    fn take_over(&self, log: &mut TickLog, from: &Self, now: Timestamp) {
        let old = mem::take(log);
        // The old meter may have coarser ticks, so an event may have been rounded up to a time
        // after `now`. Without the cap, the key would wait longer than the new quota alone could
        // make it wait.
        let latest = now.as_nanos().div_ceil(self.tick);
        for (tick, events) in old.runs() {
            let tick = tick.saturating_mul(from.tick).div_ceil(self.tick).min(latest);
            if tick >= self.since(now) {
                log.push(tick, events.into(), self.limit);
            }
        }
    }
}

/// An exclusive upper bound on the number of whole ticks in a window.
///
/// A log stores only the low 32 bits of a tick. The low 32 bits of two ticks differ if the ticks
/// are less than twice `MAX_WINDOW_TICKS` apart, so even an event that left the window up to one
/// window length ago is read correctly.
const MAX_WINDOW_TICKS: u64 = 1 << 31;
