//! Takes permits back from responses that are not read, and from requests that hold them for too
//! long.
//!
//! A server polls a body only when its client reads, so a body that is not being read cannot
//! measure time itself. One task per layer therefore measures time for all permits. The task runs
//! while there are permits to watch, and ends when there are none. The task measures time in ticks:
//!
//! ```text
//!  tick        4         5         6         7         8         9
//!  ────────────┼─────────┼─────────┼─────────┼─────────┼─────────┼──►
//!                 ▲      └────── the stall is counted from here ─┘
//!                 a frame is taken: the body stores "4"         at tick 9 it is 4 periods
//! ```
//!
//! When a frame is taken, the body stores only the index of the current tick. Polling a body
//! therefore never reads a clock, and a frame costs only a few atomic operations. The stall is
//! counted from the next tick, because the frame may have been taken at the very end of the period.
//! No permit is therefore taken back too early. If a permit's time limit is a multiple of the
//! period, like the shortest time limit, the permit is taken back less than one period too late.
//! Otherwise the permit is taken back less than two periods too late.
//!
//! The sweeper holds only `Weak` references, and never keeps a permit alive. Without a tokio
//! runtime there is no task, and no permit is taken back.

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
    /// Takes the value back if its time limit has passed, and returns whether the value was taken
    /// back. `stalled` accepts a tick, and returns the time that has certainly passed since the
    /// period of that tick. `now` is the time on the layer's clock.
    fn sweep(&self, stalled: impl Fn(u32) -> Duration, now: Timestamp) -> bool;
}

/// Periodically checks a list of values, in a task that exists while the list is not empty.
pub(super) struct Sweeper<T> {
    /// The index of the current period, which advances only while the task runs. Accesses are
    /// `Relaxed`, because no other memory is published with this value.
    tick: AtomicU32,
    /// The time between two ticks: a quarter of the shortest time after which a permit is taken
    /// back.
    period: Duration,
    swept: Mutex<Swept<T>>,
    clock: StageClock,
    telemetry: Telemetry,
}

struct Swept<T> {
    /// The values to check. The references are weak, so a permit that is dropped as usual is
    /// removed at the next sweep.
    held: Vec<Weak<T>>,
    /// The length of `held` at which dropped values are removed without waiting for the next sweep.
    /// Dropped values occupy memory until they are removed, and at a high request rate, far more
    /// values are dropped between two ticks than are in use.
    full_at: usize,
    /// Whether the task is running or about to be spawned. The flag is changed under the same lock
    /// as `held`, so that inside a runtime, no value is added to a list that no task checks.
    is_running: bool,
}

impl<T: Sweep> Sweeper<T> {
    /// Creates a sweeper for values whose shortest time limit is `shortest`.
    pub(super) fn new(shortest: Duration, clock: StageClock, telemetry: Telemetry) -> Arc<Self> {
        Arc::new(Self {
            tick: AtomicU32::new(0),
            period: shortest / LOOKS,
            swept: Mutex::default(),
            clock,
            telemetry,
        })
    }

    /// Returns the current tick. A permit stores it when its timer starts.
    pub(super) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Returns the time since a tick, rounded to whole periods.
    pub(super) fn since(&self, tick: u32) -> Duration {
        self.period * self.tick().wrapping_sub(tick)
    }

    /// Adds a value, and spawns the task if it is not running. Outside a tokio runtime, the missing
    /// runtime is reported, and the value stays in the list until a later call can spawn the task.
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
        // The task is spawned with the lock released. A runtime that is shutting down drops the
        // task inside `spawn`, and the drop of `Running` takes the lock, which would deadlock on
        // this thread.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(run(Running(Arc::downgrade(self)), self.period))),
            Err(_) => {
                self.lock().is_running = false;
                self.telemetry.misconfigured(Misconfiguration::NoRuntime);
            }
        }
    }

    /// Starts a new period and checks all values once. Returns whether any values are left, in
    /// which case the task has to continue.
    fn sweep(&self) -> bool {
        let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
        // A frame was taken at some point between its recorded tick and the next tick. Only the
        // periods after that next tick have certainly passed.
        let stalled = |since: u32| self.period * tick.wrapping_sub(since).saturating_sub(1);
        let now = self.clock.now();
        // The list is taken out and checked without the lock. Taking a permit back, or dropping the
        // last reference to a permit here, wakes waiters and may run application code, which may
        // add a permit and take the lock. Values that are added in the meantime go into a new list,
        // which is merged below.
        let mut held = mem::take(&mut self.lock().held);
        held.retain(|held| held.upgrade().is_some_and(|held| !held.sweep(stalled, now)));
        let mut swept = self.lock();
        held.append(&mut swept.held);
        swept.held = held;
        // If the list is empty, this task ends. The flag is cleared under the same lock, so the next
        // call of `add` finds `false` and spawns a new task.
        swept.is_running = !swept.held.is_empty();
        swept.is_running
    }

    /// Returns the number of values in the list, including dropped values.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().held.len()
    }

    /// Locks the list, even if the lock is poisoned, because a panic leaves the list and the flag
    /// unchanged.
    fn lock(&self) -> MutexGuard<'_, Swept<T>> {
        self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Swept<T> {
    /// Removes dropped values once the list has doubled since the last removal. Each added value
    /// therefore costs an amortized constant number of checks. The list never has more than [`FEW`]
    /// entries or twice the number of values in use at the last removal, whichever is greater.
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

/// Runs one sweep in each period, until no value is left or the layer is dropped.
async fn run<T: Sweep>(mut running: Running<T>, period: Duration) {
    let mut ticks = time::interval(period);
    // After the process has been suspended, the missed ticks are not made up for. Otherwise the
    // suspension would count as a stall of every client, even though no client had a chance to
    // read.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick of an interval completes immediately.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if !running.0.upgrade().is_some_and(|sweeper| sweeper.sweep()) {
            // The sweep has already reset `is_running`, and another task may be running by now. The
            // drop of `running` must not reset the flag of that task.
            running.0 = Weak::new();
            return;
        }
    }
}

/// The number of ticks in the shortest time after which a permit is taken back. More ticks would be
/// more precise, but would cost more wake-ups.
const LOOKS: u32 = 4;

/// The length of the list below which dropped values are left for the next sweep.
const FEW: usize = 64;
