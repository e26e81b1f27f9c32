//! Takes permits back from responses that are not read, and from requests that hold them for too
//! long.
//!
//! A server polls a body only when its client reads, so a body that is not read cannot notice the
//! passing of time itself. One task per layer does that for all permits. It runs while it has
//! permits to watch, and ends when there are none:
//!
//! ```text
//!  tick        4         5         6         7         8         9
//!  ────────────┼─────────┼─────────┼─────────┼─────────┼─────────┼──►
//!                 ▲      └────── the stall is counted from here ─┘
//!                 a frame is taken: the body stores "4"         at tick 9 it is 4 periods
//! ```
//!
//! A body stores only the number of the current tick when a frame is taken. So no poll of a body
//! reads a clock, and a frame costs a few atomic operations. The count starts at the next tick,
//! because the frame may have been taken at the very end of the period: no permit is taken back too
//! early. It is taken back less than one period too late where its time is a multiple of the
//! period, as the shortest one is, and less than two otherwise.
//!
//! The sweeper holds `Weak` references only, and never keeps a permit alive. Without a tokio
//! runtime there is no task, and nothing is taken back.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    time::{self, MissedTickBehavior},
};
use waiting_room_core::{Timestamp, time::Clock};

use crate::{ambient::StageClock, misconfiguration::Misconfiguration, telemetry::Telemetry};

/// A value that the sweeper can take back.
pub(super) trait Sweep: Send + Sync + 'static {
    /// Takes the value back if its time is over, and returns whether it did. `stalled` returns the
    /// time that has surely passed since the period of a tick; `now` is the time on the layer's
    /// clock.
    fn sweep(&self, stalled: impl Fn(u32) -> Duration, now: Timestamp) -> bool;
}

/// Checks a list of values periodically, by a task that exists while the list is not empty.
pub(super) struct Sweeper<T> {
    /// The number of the current period. It counts only while the task runs. `Relaxed`, because no
    /// other memory is published with it.
    tick: AtomicU32,
    /// The time between two ticks: a quarter of the shortest time after which a permit is taken
    /// back.
    period: Duration,
    swept: Mutex<Swept<T>>,
    clock: StageClock,
    telemetry: Telemetry,
}

struct Swept<T> {
    /// The values to check. Weak: a permit that is dropped as usual is forgotten at the next sweep.
    held: Vec<Weak<T>>,
    /// The length of `held` at which dropped values are forgotten at once. Until then they keep
    /// their memory, and at a high rate far more are dropped between two ticks than are in use.
    full_at: usize,
    /// Whether the task runs or is about to be spawned. Changed under the lock together with
    /// `held`, so that inside a runtime no value is added to a list that no task checks.
    is_running: bool,
}

impl<T: Sweep> Sweeper<T> {
    /// A sweeper for values of which the most impatient is taken back after `shortest`.
    pub(super) fn new(shortest: Duration, clock: StageClock, telemetry: Telemetry) -> Arc<Self> {
        Arc::new(Self {
            tick: AtomicU32::new(0),
            period: shortest / LOOKS,
            swept: Mutex::default(),
            clock,
            telemetry,
        })
    }

    /// The current tick, for a value to store when its time starts.
    pub(super) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Adds a value, and spawns the task if it does not run. Outside of a tokio runtime the value
    /// stays in the list until a later call can spawn the task, and the missing runtime is
    /// reported.
    pub(super) fn add(self: &Arc<Self>, held: &Arc<T>) {
        let is_running = {
            let mut swept = self.lock();
            swept.make_room();
            swept.held.push(Arc::downgrade(held));
            mem::replace(&mut swept.is_running, true)
        };
        if is_running {
            return;
        }
        // Spawned with the lock released. A runtime that is shutting down drops the task inside of
        // `spawn`, and the drop of `Running` takes the lock: it would deadlock on this thread.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(run(Running(Arc::downgrade(self)), self.period))),
            Err(_) => {
                self.lock().is_running = false;
                self.telemetry.misconfigured(Misconfiguration::NoRuntime);
            }
        }
    }

    /// Starts a new period and checks all values once. Returns whether any are left, so that the
    /// task has to continue.
    fn sweep(&self) -> bool {
        let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
        // The frame was taken at some time between that tick and the next one. Only the periods
        // after the next one have surely passed.
        let stalled = |since: u32| self.period * tick.wrapping_sub(since).saturating_sub(1);
        let now = self.clock.now();
        // The list is taken out, and checked without the lock. Taking a permit back, or dropping
        // the last reference to it here, wakes waiters and may run foreign code, which may add a
        // permit and take the lock. Values that are added meanwhile are in the new list, and are
        // merged below.
        let mut held = mem::take(&mut self.lock().held);
        held.retain(|held| held.upgrade().is_some_and(|held| !held.sweep(stalled, now)));
        let mut swept = self.lock();
        held.append(&mut swept.held);
        swept.held = held;
        // Decided under the lock: a value that is added from now on finds `false` and spawns the
        // task.
        swept.is_running = !swept.held.is_empty();
        swept.is_running
    }

    /// The number of values in the list, dropped ones included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().held.len()
    }

    /// A panic leaves the list and the flag as they were, so a poisoned lock is used like any
    /// other.
    fn lock(&self) -> MutexGuard<'_, Swept<T>> {
        self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Swept<T> {
    /// Forgets dropped values once the list has doubled since the last time. So each added value
    /// causes a constant number of checks, and the list has at most twice as many entries as values
    /// were in use then, or [`FEW`].
    fn make_room(&mut self) {
        if self.held.len() >= self.full_at {
            self.held.retain(|held| held.strong_count() > 0);
            self.full_at = (2 * self.held.len()).max(FEW);
        }
    }
}

impl<T> Default for Swept<T> {
    fn default() -> Self {
        Self { held: Vec::new(), full_at: 0, is_running: false }
    }
}

/// Resets `is_running` when the task is dropped because its runtime ends. The next permit that is
/// added then spawns a task on the runtime of its own request.
struct Running<T: Sweep>(Weak<Sweeper<T>>);

impl<T: Sweep> Drop for Running<T> {
    fn drop(&mut self) {
        if let Some(sweeper) = self.0.upgrade() {
            sweeper.lock().is_running = false;
        }
    }
}

/// The task: one sweep in each period, until no value is left or the layer is dropped.
async fn run<T: Sweep>(mut running: Running<T>, period: Duration) {
    let mut ticks = time::interval(period);
    // If the process was suspended, the missed ticks are not made up for at once: that would count
    // the suspension as a stall of every client, none of which had a chance to read.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick of an interval is ready at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if !running.0.upgrade().is_some_and(|sweeper| sweeper.sweep()) {
            // The sweep has reset `is_running` itself, and another task may run by now. The drop of
            // `running` must not reset the flag of that one.
            running.0 = Weak::new();
            return;
        }
    }
}

/// The number of ticks in the shortest time after which a permit is taken back. More of them would
/// be more precise, and cost more wake-ups.
const LOOKS: u32 = 4;

/// The length of the list below which dropped values are left for the next sweep.
const FEW: usize = 64;
