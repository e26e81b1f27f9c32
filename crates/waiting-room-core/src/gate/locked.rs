//! The critical sections of a gate, and the wake-ups that follow each of them.
//!
//! No foreign code runs under the lock. A waker may run a task immediately, and that task may drop
//! a permit from the same gate. If the waker were called under the lock, the task would deadlock on
//! a lock that its own thread holds. Wakers are therefore collected in a [`WakeList`] and called
//! after the lock is released. Cloning or dropping a waker runs foreign code, too, and therefore
//! also happens outside the lock. A clock may be foreign code as well, so the time is read before
//! the lock is taken.
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

/// A gate whose lock is held, together with the time of the critical section.
pub(super) struct Locked<'a> {
    pub(super) shared: &'a Shared,
    pub(super) state: &'a mut State,
    /// The time of this critical section, read before the lock was taken.
    pub(super) now: Timestamp,
    wakes: &'a mut WakeList,
}

/// The wakers to call after the lock is released.
#[derive(Default)]
struct WakeList {
    /// The first waker. Most critical sections wake at most one task, and storing this waker inline
    /// saves them an allocation.
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Gate {
    /// Polls a waiting request, and returns the result of `Waiters::poll`.
    ///
    /// This method takes the lock without [`critical`](Self::critical), because a poll changes only
    /// the entry of its own request and therefore never has to wake another task.
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
        // The list is declared before the guard, and locals are dropped in reverse order of
        // declaration. Even if `act` unwinds, the lock is therefore released before the wakers are
        // dropped.
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

    /// Applies a change to the counter, and returns the closure's result. The change always
    /// succeeds.
    pub(super) fn change<T>(&self, change: impl Fn(&mut Counts) -> T) -> T {
        let changed = self.shared.counter.change(|counts| Some(change(counts)));
        changed.unwrap_or_else(|| unreachable!("the closure always returns a value"))
    }

    /// Completes a critical section just before the lock is released.
    ///
    /// While a gate is being drained, every release is handled under the lock, so the gate can
    /// become idle only in a critical section. This method is therefore the only code that has to
    /// check whether a drained gate has become idle.
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

    /// Counts a refusal and returns it. A refusal that is due to a lack of capacity includes a
    /// retry time.
    ///
    /// A refusal by a drained gate has no retry time, because it is unknown when the gate will open
    /// again. The client of a request that timed out has often disconnected, so a turn in the retry
    /// schedule is reserved for that client only when [`Gate::retry_after`] is called.
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

    /// Reserves the next turn in the retry schedule, and returns the time until that turn. While
    /// the service rate is unknown, no turn is reserved, and the result is one or two seconds.
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

    /// Asserts the gate's invariants at the end of every critical section, in debug builds only.
    fn invariants(&self) {
        let counts = self.counts();
        let queued = self.state.queued;
        debug_assert_eq!(queued as usize, self.state.line.len());
        debug_assert_eq!(queued > 0, counts.has_queue);
        debug_assert!(queued <= self.shared.rules.queue.min(GateRules::MAX_QUEUE));
        debug_assert!(queued == 0 || !counts.has_room(), "a request waits while a permit is free");
        let it = &self.state.outcomes;
        // Each request that joined the queue either has left the queue in exactly one way or is
        // still waiting. The counts of drained and shed requests include requests that never joined
        // the queue, so these counts can only bound the number of requests that joined.
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

    /// Calls all wakers, and catches any panic in a waker.
    ///
    /// The request that runs this code is not responsible for a panic in another task's waker. That
    /// request's task may itself be unwinding, and a second panic would then abort the process.
    /// Requests later in the list have already been granted their permits, and these permits would
    /// be lost if the requests were never woken. Each panic is therefore caught here, after the
    /// panic hook has reported it.
    fn wake(self) {
        let wake = |waker: Waker| drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
        if let Some(first) = self.first {
            wake(first);
        }
        self.others.into_iter().for_each(wake);
    }
}
