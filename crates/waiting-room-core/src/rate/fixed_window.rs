//! The fixed window: a counter that is reset at the start of each window.
//!
//! ```text
//! Epoch      ├── window ──────┼── window ──────┼── window ──────►   multiples of the window
//! FirstHit        ├── window ──────┤     ├── window ──────┤         with the first event
//!                 ▲                      ▲
//! ```
//!
//! A fixed window is simple to explain, and with [`Alignment::Epoch`] the window boundaries are
//! known in advance. The weakness of a fixed window is that the whole limit can be used at the end
//! of one window and again at the start of the next. Up to twice the limit can therefore be used
//! within a very short time.

use std::time::Duration;

use super::{Alignment, Charge, Meter, Quota};
use crate::Timestamp;

/// The [fixed window](super::Algorithm::FixedWindow): a counter of the units used in the current
/// window.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{Quota, Timestamp, rate::{Alignment, meters::{FixedWindow, Meter}}};
///
/// let window = FixedWindow::new(&Quota::per_minute(5), Alignment::Epoch);
/// let mut state = Default::default();
/// let now = Timestamp::from_secs(110);
/// assert!(window.check(&mut state, 5, now).is_ok());
/// // The third minute since the epoch begins at 120 seconds.
/// assert_eq!(window.wait(&state, 1, now), Some(Duration::from_secs(10)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    limit: u64,
    /// The length of a window, in nanoseconds.
    window: u64,
    alignment: Alignment,
}

/// The state of one key of a [`FixedWindow`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedWindowState {
    /// The time at which the window began, in nanoseconds since the Unix epoch. The value is
    /// arbitrary while `used` is zero.
    start: u64,
    /// The amount used in the window. With a debt, this amount exceeds the limit.
    used: u64,
}

impl FixedWindow {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota, alignment: Alignment) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos(), alignment }
    }

    /// The window that is open at `now` or, if none is open, the window that a charge would open.
    ///
    /// If the clock has jumped back to a time before the start of the window, the window stays
    /// open.
    fn open(&self, state: &FixedWindowState, now: Timestamp) -> FixedWindowState {
        if state.used > 0 && now.as_nanos().saturating_sub(state.start) < self.window {
            return *state;
        }
        FixedWindowState { start: self.start(now), used: 0 }
    }

    /// The start of a window that is opened at `now`.
    fn start(&self, now: Timestamp) -> u64 {
        match self.alignment {
            Alignment::Epoch => now.as_nanos() - now.as_nanos() % self.window,
            Alignment::FirstHit => now.as_nanos(),
        }
    }
}

impl Meter for FixedWindow {
    type State = FixedWindowState;

    fn limit(&self) -> u64 {
        self.limit
    }

    fn remaining(&self, state: &FixedWindowState, now: Timestamp) -> u64 {
        self.limit.saturating_sub(self.open(state, now).used)
    }

    fn wait(&self, state: &FixedWindowState, cost: u64, now: Timestamp) -> Option<Duration> {
        if cost == 0 {
            return Some(Duration::ZERO);
        }
        let room = self.limit.checked_sub(cost)?;
        let FixedWindowState { start, used } = self.open(state, now);
        if used <= room {
            return Some(Duration::ZERO);
        }
        // The wait lasts until the end of the window. If the clock has jumped back, the wait is
        // longer by `ahead`, the time until the window begins. At least one of `ahead` and
        // `elapsed` is zero.
        let ahead = start.saturating_sub(now.as_nanos());
        let elapsed = now.as_nanos().saturating_sub(start);
        Some(Duration::from_nanos(ahead) + Duration::from_nanos(self.window - elapsed))
    }

    fn spend(&self, state: &mut FixedWindowState, cost: u64, now: Timestamp) -> Charge {
        if cost > 0 {
            *state = self.open(state, now);
            state.used = state.used.saturating_add(cost);
        }
        Charge::new(cost, now, state.start)
    }

    fn refund(
        &self,
        state: &mut FixedWindowState,
        charge: &Charge,
        cost: u64,
        _: Timestamp,
    ) -> Charge {
        // A charge in an earlier window has lapsed together with that window.
        if charge.mark == state.start {
            state.used = state.used.saturating_sub(cost.min(charge.cost));
        }
        charge.less(cost)
    }

    fn used(&self, state: &FixedWindowState, now: Timestamp) -> u64 {
        self.open(state, now).used
    }

    fn replenished_at(&self, state: &FixedWindowState, now: Timestamp) -> Timestamp {
        let state = self.open(state, now);
        let end = Timestamp::from_nanos(state.start.saturating_add(self.window));
        if state.used > 0 { end.max(now) } else { now }
    }

    /// Keeps the greater of the two amounts, in the later of the two windows.
    fn join(&self, state: &mut FixedWindowState, other: &FixedWindowState, now: Timestamp) {
        let one = self.open(state, now);
        let other = self.open(other, now);
        *state = match (one.used, other.used) {
            (_, 0) => one,
            (0, _) => other,
            _ => FixedWindowState {
                start: one.start.max(other.start),
                used: one.used.max(other.used),
            },
        };
    }

    /// Moves the used amount into a window of the new length. If only the limit has changed, the
    /// window continues.
    fn take_over(&self, state: &mut FixedWindowState, from: &Self, now: Timestamp) {
        if (self.window, self.alignment) != (from.window, from.alignment) {
            *state = FixedWindowState { start: self.start(now), used: from.used(state, now) };
        }
    }
}
