//! The sliding log: never more than the limit in *any* window.
//!
//! The log remembers the times of the last events, no more of them than the limit. Whether another
//! may follow is a look at a single one: with it, the event that stands `limit` places before must
//! have left the window, and then so has everything older.
//!
//! ```text
//!           ├──────── window ────────┤ now
//!    │   │  │ │       │    │  │      ┆
//!        ▲ with a limit of 6, another is allowed because this one is outside
//! ```
//!
//! Events of one time are one run of eight bytes, whatever their number, so a cost of a million
//! takes no more memory than a cost of one. Time is counted in ticks of the smallest power of ten
//! of nanoseconds with which the window is less than 2³¹ of them: 100 ns for a minute, 10 µs for an
//! hour. Times are rounded up when they are remembered and down when they are looked at, and the
//! window is rounded up, so that no window of real time ever holds more than the limit, and no
//! request waits longer for it than two ticks.

use std::{mem, time::Duration};

use super::{Charge, Meter, Quota, Refusals, TickLog};
use crate::Timestamp;

/// The times of all events within the window, for a limit that is exact.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Meter, Quota, Refusals, SlidingLog, Timestamp};
///
/// let log = SlidingLog::new(&Quota::per_minute(2), Refusals::Ignore);
/// let (mut state, start) = (Default::default(), Timestamp::from_secs(100));
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
    /// In nanoseconds.
    tick: u64,
    /// In ticks, rounded up.
    window: u64,
}

impl SlidingLog {
    /// A log for a quota that is valid for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota, refusals: Refusals) -> Self {
        let limit = u32::try_from(quota.limit()).unwrap_or(u32::MAX);
        let mut tick = 1;
        while quota.window_nanos() / tick >= MAX_WINDOW_TICKS {
            tick *= 10;
        }
        Self { limit, refusals, tick, window: quota.window_nanos().div_ceil(tick) }
    }

    /// The most memory that the runs of one key can take, in bytes: each event at its own time.
    pub(super) fn bytes(quota: &Quota) -> u64 {
        quota.limit().saturating_mul(TickLog::BYTES_PER_RUN as u64)
    }

    /// Remembers `cost` events.
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
        let in_the_way = u32::try_from(in_the_way).expect("it is less than the length of the log");
        let (event, tick) = (log.tick(in_the_way), now.as_nanos() / self.tick);
        // One of the two differences is zero.
        let (ahead, age) = (event.saturating_sub(tick), tick.saturating_sub(event));
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
        // What the newest has outlived is not remembered, even if the clock jumps back.
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

    /// As many events as the more of the two, all at the latest time.
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
        // Coarser ticks than ours may have rounded an event up to a time that is yet to come.
        let latest = now.as_nanos().div_ceil(self.tick);
        for (tick, events) in old.runs() {
            let tick = tick.saturating_mul(from.tick).div_ceil(self.tick).min(latest);
            if tick >= self.since(now) {
                log.push(tick, events.into(), self.limit);
            }
        }
    }
}

/// So many ticks are more than a window has: with as many again, times of four bytes still differ.
const MAX_WINDOW_TICKS: u64 = 1 << 31;
