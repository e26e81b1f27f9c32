//! The sliding counter: the weighted counts of the current and the previous window.
//!
//! The sliding window that ends now covers the elapsed part of the current fixed window, and a part
//! of the previous fixed window. The amount used in that part of the previous window is unknown, so
//! it is estimated as if requests had arrived evenly.
//!
//! ```text
//!   ├── previous ─────────┼── current ──────────┤
//!                         ├ elapsed ┤
//!             ├── the window ───────┤ now
//!             ├─ weight ─►┤
//! ```
//!
//! The estimate is nearly exact if many requests arrive evenly. A client that knows the window
//! boundaries can use the whole limit at the end of one window, and again while the weight of that
//! window falls. In this way, the client can use twice the limit in less time than the length of a
//! window.

use std::time::Duration;

use super::{Charge, Meter, Quota};
use crate::Timestamp;

/// The [sliding counter](super::Algorithm::SlidingCounter): an estimate of what was used in the
/// window that ends now, based on two counters.
///
/// ```
/// use waiting_room_core::{Quota, Timestamp, rate::meters::{Meter, SlidingCounter}};
///
/// let counter = SlidingCounter::new(&Quota::per_minute(7));
/// let mut state = Default::default();
/// counter.spend(&mut state, 5, Timestamp::from_secs(30));
/// counter.spend(&mut state, 3, Timestamp::from_secs(60));
/// // 30% into the second minute: 5 × 70% + 3, rounded down, is 6 of 7.
/// assert_eq!(counter.remaining(&state, Timestamp::from_secs(78)), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingCounter {
    limit: u64,
    /// The length of a window, in nanoseconds.
    window: u64,
}

/// The state of one key of a [`SlidingCounter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlidingCounterState {
    /// The time at which the current window began, in nanoseconds since the Unix epoch. This time
    /// is a multiple of the window length, so the windows of all keys coincide.
    start: u64,
    /// The amount used in the previous window.
    previous: u64,
    /// The amount used in the current window.
    current: u64,
}

impl SlidingCounter {
    /// Creates a meter for a quota that is [valid](Quota::validate) for this algorithm.
    #[must_use]
    pub fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), window: quota.window_nanos() }
    }

    /// The counters, advanced to the window that contains `now`. If the clock has jumped back, the
    /// counters are unchanged.
    fn turned(&self, state: &SlidingCounterState, now: Timestamp) -> SlidingCounterState {
        let elapsed = Self::elapsed(state, now);
        if elapsed < self.window {
            return *state;
        }
        let start = now.as_nanos() - now.as_nanos() % self.window;
        let previous = if elapsed - self.window < self.window { state.current } else { 0 };
        SlidingCounterState { start, previous, current: 0 }
    }

    /// The time since the start of the current window, in nanoseconds.
    fn elapsed(state: &SlidingCounterState, now: Timestamp) -> u64 {
        now.as_nanos().saturating_sub(state.start)
    }

    /// For a window with `count` events, returns the time from the end of the window until these
    /// events weigh no more than `room`, in nanoseconds.
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
            // The count of the current window alone leaves no room. This count begins to lose
            // weight only once the current window has ended and has become the previous window.
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
        // The mark is the start of the window in which the cost was charged, so the difference
        // determines which of the two counters contains the charge. A charge in an older window no
        // longer counts.
        match state.start.checked_sub(charge.mark) {
            Some(0) => state.current = state.current.saturating_sub(cost),
            Some(age) if age == self.window => {
                state.previous = state.previous.saturating_sub(cost);
            }
            _ => {}
        }
        charge.less(cost)
    }

    /// The estimated usage, rounded down.
    ///
    /// Once the estimate is zero, it stays zero until something is spent, because the weight only
    /// falls. The state of a key with an estimate of zero can therefore be dropped.
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

    /// Keeps the greater of the two counts in each window.
    ///
    /// The windows of the two states differ only if the clock has jumped back. The counts of the
    /// earlier state then move to the windows of the later state, so they never lose weight sooner
    /// than without the move.
    fn join(&self, state: &mut SlidingCounterState, other: &SlidingCounterState, now: Timestamp) {
        let one = self.turned(state, now);
        let other = self.turned(other, now);
        let start = one.start.max(other.start);
        let most = |state: SlidingCounterState| {
            if state.start == start {
                (state.previous, state.current)
            } else {
                (state.previous.max(state.current), state.current)
            }
        };
        let one = most(one);
        let other = most(other);
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
        // A count above the new limit would make the key wait longer than the new quota alone ever
        // requires, because the count also has weight in the next window.
        state.current = state.current.min(self.limit);
    }
}

/// Returns `value × part / whole`, rounded down, where `part` is at most `whole`.
fn scale(value: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(part) / u128::from(whole);
    u64::try_from(scaled).expect("a part of a u64 fits into a u64")
}
