//! The lock of a gate: entering it, leaving it, and the wake-ups afterwards.
//!
//! No foreign code runs under the lock. A waker may run a task on the spot, and that task may drop
//! a permit of the same gate. If the waker were called under the lock, the task would wait for a
//! lock that its own thread holds. Wakers are therefore collected in a [`WakeList`] and called
//! after the lock is released. Cloning or dropping a waker also runs foreign code, and so also
//! happens outside the lock. The clock is read before the lock is taken.
//!
//! ```text
//! lock ─► change the state, collect wakers ─► check the invariants ─► unlock ─► call the wakers
//! ```

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Poll, Waker},
    time::Duration,
};

use super::{
    arrival::{GateRefused, RefusedBecause},
    counter::Counts,
    gate::{Gate, Shared, State},
    rules::GateRules,
    waiters::{Id, Stage, Waiter},
};
use crate::{Timestamp, sync::unpoisoned};

/// A gate whose lock is held, at one instant.
pub(super) struct Locked<'a> {
    pub(super) shared: &'a Shared,
    pub(super) state: &'a mut State,
    /// The time of this critical section, read before the lock was taken.
    pub(super) now: Timestamp,
    wakes: &'a mut WakeList,
}

/// Wakers to call once the lock is released.
#[derive(Default)]
struct WakeList {
    /// The first waker is stored inline: most critical sections wake at most one task, and these do
    /// not allocate.
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Gate {
    /// Polls a waiting request, and returns the result of `Waiters::poll`.
    ///
    /// This takes the lock without [`critical`](Self::critical): a poll changes only the entry of
    /// its own request, so no other task has to be woken.
    pub(super) fn poll(
        &self,
        id: Id,
        waker: &Waker,
        clone: &mut Option<Waker>,
    ) -> Option<Poll<Waiter>> {
        unpoisoned(self.0.state.lock()).waiters.poll(id, waker, clone)
    }

    /// Runs `act` under the lock. The wakers that `act` collects are called after the lock is
    /// released.
    pub(super) fn critical<T>(&self, now: Timestamp, act: impl FnOnce(&mut Locked<'_>) -> T) -> T {
        // The list is declared before the guard, so the lock is released first even if `act`
        // unwinds. The wakers are then dropped outside the lock in that case, too.
        let mut wakes = WakeList::default();
        let mut state = unpoisoned(self.0.state.lock());
        let mut critical = Locked::new(&self.0, &mut state, now, &mut wakes);
        let given = act(&mut critical);
        critical.end();
        drop(state);
        wakes.wake();
        given
    }
}

impl<'a> Locked<'a> {
    const fn new(
        shared: &'a Shared,
        state: &'a mut State,
        now: Timestamp,
        wakes: &'a mut WakeList,
    ) -> Self {
        Self { shared, state, now, wakes }
    }

    /// Changes the numbers of the counter. This cannot fail.
    pub(super) fn change<T>(&self, change: impl Fn(&mut Counts) -> T) -> T {
        let changed = self.shared.counter.change(|counts| Some(change(counts)));
        changed.unwrap_or_else(|| unreachable!("the closure always returns a value"))
    }

    /// Finishes a critical section before the lock is released.
    ///
    /// While a gate is being drained, each release is handled under the lock, so it becomes idle
    /// only in a critical section. This is therefore the only place that has to check for it.
    fn end(self) {
        let counts = self.counts();
        if counts.is_draining && counts.is_idle() {
            mem::take(&mut self.state.idle).into_values().for_each(|waker| self.wakes.add(waker));
        }
        self.invariants();
    }

    /// Stores the outcome of a waiting request, and collects its waker.
    pub(super) fn tell(&mut self, id: Id, stage: Stage) {
        let waiter = &mut self.state.waiters[id];
        debug_assert!(waiter.is_waiting());
        waiter.stage = stage;
        waiter.waker.take().into_iter().for_each(|waker| self.wakes.add(waker));
    }

    /// Counts and returns a refusal. It has a time to come back if it is due to a lack of capacity.
    ///
    /// It is unknown when a drained gate will open. The client of a request that timed out is often
    /// gone, so its turn in the schedule is reserved only by [`Gate::retry_after`].
    pub(super) fn refused(&mut self, because: RefusedBecause) -> GateRefused {
        self.count(because);
        let retry_after = match because {
            RefusedBecause::Drained | RefusedBecause::TimedOut => None,
            RefusedBecause::Evicted | RefusedBecause::Full | RefusedBecause::Shed => {
                Some(self.retry_after())
            }
        };
        GateRefused { because, retry_after }
    }

    /// Reserves the next turn in the retry schedule, and returns the time until then.
    pub(super) fn retry_after(&mut self) -> Duration {
        let queued = self.state.queued;
        let slots = &mut self.state.slots;
        match self.state.rate.per_second() {
            Some(rate) => slots.take(self.now, queued, rate),
            None => slots.soon(),
        }
    }

    fn count(&mut self, because: RefusedBecause) {
        let outcomes = &mut self.state.outcomes;
        *match because {
            RefusedBecause::Drained => &mut outcomes.drained,
            RefusedBecause::Evicted => &mut outcomes.evicted,
            RefusedBecause::Full => &mut outcomes.full,
            RefusedBecause::Shed => &mut outcomes.shed,
            RefusedBecause::TimedOut => &mut outcomes.timed_out,
        } += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        self.shared.counter.counts()
    }

    /// Checks the invariants after every critical section, in debug builds.
    fn invariants(&self) {
        let counts = self.counts();
        let queued = self.state.queued;
        debug_assert_eq!(queued as usize, self.state.line.len());
        debug_assert_eq!(queued > 0, counts.has_queue);
        debug_assert!(queued <= self.shared.rules.queue.min(GateRules::MAX_QUEUE));
        debug_assert!(queued == 0 || !counts.has_room(), "a request waits, and a permit is free");
        let it = &self.state.outcomes;
        // Each request that joined the queue either has left it in exactly one way or is still
        // waiting. Some requests that were drained, shed or timed out never joined the queue, so
        // these counts only bound the sum.
        let left = it.granted + it.cancelled + it.evicted + u64::from(queued);
        debug_assert!(left <= it.queued);
        debug_assert!(it.queued <= left + it.drained + it.shed + it.timed_out);
    }
}

impl WakeList {
    fn add(&mut self, waker: Waker) {
        match self.first {
            None => self.first = Some(waker),
            Some(_) => self.others.push(waker),
        }
    }

    /// Calls all wakers, each of which may panic.
    ///
    /// The request that runs this code is not responsible for a panic in another task's waker. It
    /// may itself be unwinding, and a second panic would abort the process. Requests later in the
    /// list already hold their permits, which would be lost if these requests were not woken. So a
    /// panic is caught here, after the panic hook has reported it.
    fn wake(self) {
        let wake = |waker: Waker| drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
        if let Some(first) = self.first {
            wake(first);
        }
        self.others.into_iter().for_each(wake);
    }
}
