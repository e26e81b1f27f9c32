//! The sliding counter: the counts of this window and the one before, weighted.
//!
//! The window that ends now covers all of the current one and a part of the previous one. What was
//! used in that part is not known, so it is taken as if it had come evenly.
//!
//! ```text
//!   ├── previous ─────────┼── current ──────────┤
//!                         ├ elapsed ┤
//!             ├── the window ───────┤ now
//!             ├─ weight ─►┤
//! ```
//!
//! Nearly exact where many requests come evenly. Who knows the boundaries can use the limit at the
//! end of one window and again as the previous one fades: twice the limit in less than a window.

use std::time::Duration;

use super::{Charge, Meter, Quota};
use crate::Timestamp;

/// An estimate of what was used in the window that ends now, from two counters.
///
/// ```
/// use waiting_room_core::{Meter, Quota, SlidingCounter, Timestamp};
///
/// let counter = SlidingCounter::new(&Quota::per_minute(7));
/// let mut state = Default::default();
/// counter.spend(&mut state, 5, Timestamp::from_secs(30));
/// counter.spend(&mut state, 3, Timestamp::from_secs(60));
/// // 30 % into the second minute: 5 × 70 % + 3, rounded down, is 6 of 7.
/// assert_eq!(counter.remaining(&state, Timestamp::from_secs(78)), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingCounter {
    limit: u64,
    /// In nanoseconds.
    window: u64,
}

/// What a [`SlidingCounter`] remembers of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlidingCounterState {
    /// When the current window began, in nanoseconds since the Unix epoch; a multiple of the
    /// window.
    start: u64,
    previous: u64,
    current: u64,
}

impl SlidingCounter {
    /// Two counters for a quota that is valid for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos() }
    }

    /// The counters as they are at `now`; those of the state if the clock has jumped back.
    fn turned(&self, state: &SlidingCounterState, now: Timestamp) -> SlidingCounterState {
        let elapsed = Self::elapsed(state, now);
        if elapsed < self.window {
            return *state;
        }
        let start = now.as_nanos() - now.as_nanos() % self.window;
        let previous = if elapsed - self.window < self.window { state.current } else { 0 };
        SlidingCounterState { start, previous, current: 0 }
    }

    /// How much of the current window has passed.
    fn elapsed(state: &SlidingCounterState, now: Timestamp) -> u64 {
        now.as_nanos().saturating_sub(state.start)
    }

    /// How far into the window after theirs `count` events weigh no more than `room`.
    fn fades_at(&self, count: u64, room: u64) -> u64 {
        match count.checked_sub(room) {
            None | Some(0) => 0,
            // The first nanosecond at which `count × (window − elapsed) < (room + 1) × window`.
            Some(excess) => scale(self.window, excess - 1, count) + 1,
        }
    }
}

impl Meter for SlidingCounter {
    type State = SlidingCounterState;

    fn limit(&self) -> u64 {
        self.limit
    }

    fn remaining(&self, state: &SlidingCounterState, now: Timestamp) -> u64 {
        self.limit.saturating_sub(self.used(state, now))
    }

    fn wait(&self, state: &SlidingCounterState, cost: u64, now: Timestamp) -> Option<Duration> {
        if cost == 0 {
            return Some(Duration::ZERO);
        }
        let room = self.limit.checked_sub(cost)?;
        let state = self.turned(state, now);
        let allowed_at = match room.checked_sub(state.current) {
            Some(room) => self.fades_at(state.previous, room),
            // The current window alone is too much, and begins to fade only when it is over.
            None => self.window + self.fades_at(state.current, room),
        };
        match allowed_at.saturating_sub(Self::elapsed(&state, now)) {
            0 => Some(Duration::ZERO),
            nanos => {
                let ahead = state.start.saturating_sub(now.as_nanos());
                Some(Duration::from_nanos(ahead) + Duration::from_nanos(nanos))
            }
        }
    }

    fn spend(&self, state: &mut SlidingCounterState, cost: u64, now: Timestamp) -> Charge {
        if cost > 0 {
            *state = self.turned(state, now);
            state.current = state.current.saturating_add(cost);
        }
        Charge::new(cost, now, state.start)
    }

    fn refund(
        &self,
        state: &mut SlidingCounterState,
        charge: &Charge,
        cost: u64,
        now: Timestamp,
    ) -> Charge {
        *state = self.turned(state, now);
        let cost = cost.min(charge.cost);
        match state.start.checked_sub(charge.mark) {
            Some(0) => state.current = state.current.saturating_sub(cost),
            Some(age) if age == self.window => {
                state.previous = state.previous.saturating_sub(cost);
            }
            _ => {}
        }
        charge.less(cost)
    }

    /// The estimate. What it rounds down to nothing will never count again.
    fn used(&self, state: &SlidingCounterState, now: Timestamp) -> u64 {
        let state = self.turned(state, now);
        let weight = self.window - Self::elapsed(&state, now);
        scale(state.previous, weight, self.window).saturating_add(state.current)
    }

    fn replenished_at(&self, state: &SlidingCounterState, now: Timestamp) -> Timestamp {
        let state = self.turned(state, now);
        let windows = match (state.previous, state.current) {
            (0, 0) => return now,
            (_, 0) => self.window,
            (_, _) => self.window.saturating_mul(2),
        };
        Timestamp::from_nanos(state.start.saturating_add(windows)).max(now)
    }

    /// As much as the more of the two, in each window. States whose windows differ, because the clock
    /// has jumped back, count in the later one.
    fn join(&self, state: &mut SlidingCounterState, other: &SlidingCounterState, now: Timestamp) {
        let (one, other) = (self.turned(state, now), self.turned(other, now));
        let start = one.start.max(other.start);
        let most = |it: SlidingCounterState| match it.start == start {
            true => (it.previous, it.current),
            false => (it.previous.max(it.current), it.current),
        };
        let (one, other) = (most(one), most(other));
        *state = SlidingCounterState {
            start,
            previous: one.0.max(other.0),
            current: one.1.max(other.1),
        };
    }

    fn take_over(&self, state: &mut SlidingCounterState, from: &Self, now: Timestamp) {
        *state = if self.window == from.window {
            self.turned(state, now)
        } else {
            let start = now.as_nanos() - now.as_nanos() % self.window;
            SlidingCounterState { start, previous: 0, current: from.used(state, now) }
        };
        // What is over the new limit would only be waited for in the window after this one.
        state.current = state.current.min(self.limit);
    }
}

/// `value × part / whole`, rounded down, for a part of the whole.
fn scale(value: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(part) / u128::from(whole);
    u64::try_from(scaled).expect("a part of a u64 is no greater than it")
}
