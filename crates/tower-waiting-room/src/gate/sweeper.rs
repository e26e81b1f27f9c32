//! Frees the permits of responses that nobody reads.
//!
//! A body that is not read is not polled either, so it cannot look at the time itself. One task for
//! all of them does, for as long as there are any; a body only says at which tick of it a frame was
//! taken, so that none of its polls reads a clock.

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
use waiting_room_core::{Clock, Timestamp};

use crate::{ambient::StageClock, misconfiguration::Misconfiguration, telemetry::Telemetry};

/// Something that is taken away after a while.
pub(super) trait Sweep: Send + Sync + 'static {
    /// Takes it away if its time is over; says whether it did. `stalled` is the time since a tick.
    fn sweep(&self, stalled: impl Fn(u32) -> Duration, now: Timestamp) -> bool;
}

/// Looks at permits from time to time.
pub(super) struct Sweeper<T> {
    tick: AtomicU32,
    period: Duration,
    swept: Mutex<Swept<T>>,
    clock: StageClock,
    telemetry: Telemetry,
}

struct Swept<T> {
    held: Vec<Weak<T>>,
    /// With so many of them it is time to forget those that are dropped, which keep their memory
    /// until then: at a high rate far more are dropped between two looks than there are.
    full_at: usize,
    is_running: bool,
}

impl<T: Sweep> Sweeper<T> {
    /// A sweeper for permits whose shortest time is this.
    pub(super) fn new(shortest: Duration, clock: StageClock, telemetry: Telemetry) -> Arc<Self> {
        Arc::new(Self {
            tick: AtomicU32::new(0),
            period: shortest / LOOKS,
            swept: Mutex::default(),
            clock,
            telemetry,
        })
    }

    pub(super) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Looks at a permit too, until it is dropped.
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
        // Not under the lock: a runtime that is about to end drops the task here and now.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(run(Running(Arc::downgrade(self)), self.period))),
            Err(_) => {
                self.lock().is_running = false;
                self.telemetry.misconfigured(Misconfiguration::NoRuntime);
            }
        }
    }

    /// Looks at all of them once; says whether there are any left.
    fn sweep(&self) -> bool {
        let tick = self.tick.fetch_add(1, Ordering::Relaxed) + 1;
        // The frame was taken after that tick and before the next: only from there it counts.
        let stalled = |since: u32| self.period * tick.wrapping_sub(since).saturating_sub(1);
        let now = self.clock.now();
        // Nothing is dropped under the lock: what is dropped lets others in.
        let mut held = mem::take(&mut self.lock().held);
        held.retain(|held| held.upgrade().is_some_and(|held| !held.sweep(stalled, now)));
        let mut swept = self.lock();
        held.append(&mut swept.held);
        swept.held = held;
        swept.is_running = !swept.held.is_empty();
        swept.is_running
    }

    /// How many it has in mind.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().held.len()
    }

    fn lock(&self) -> MutexGuard<'_, Swept<T>> {
        self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Swept<T> {
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

/// Says that the task does not run any more, should its runtime end before it: the next permit
/// brings another.
struct Running<T: Sweep>(Weak<Sweeper<T>>);

impl<T: Sweep> Drop for Running<T> {
    fn drop(&mut self) {
        if let Some(sweeper) = self.0.upgrade() {
            sweeper.lock().is_running = false;
        }
    }
}

async fn run<T: Sweep>(mut running: Running<T>, period: Duration) {
    let mut ticks = time::interval(period);
    // After a time in which the process did not run, readers get a whole period like any other.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if !running.0.upgrade().is_some_and(|sweeper| sweeper.sweep()) {
            // It has said so itself, and another may run by now.
            running.0 = Weak::new();
            return;
        }
    }
}

/// So often it looks in the shortest time after which a permit is freed; so it is freed at most a
/// quarter of that too late.
const LOOKS: u32 = 4;

/// So few are not worth looking at.
const FEW: usize = 64;
