//! What happens to a gate under its lock.
//!
//! Nobody is woken and nothing foreign is called here: whom a change concerns is gathered, to be
//! woken when the lock is released.

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
    pub(super) now: Timestamp,
    wakes: &'a mut WakeList,
}

/// Wakers to call once the lock is released.
#[derive(Default)]
struct WakeList {
    /// Mostly the only one; so it takes no memory.
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Gate {
    /// What became of somebody who waits, as [`Waiters::poll`] tells it.
    pub(super) fn poll(
        &self,
        id: Id,
        waker: &Waker,
        clone: &mut Option<Waker>,
    ) -> Option<Poll<Waiter>> {
        unpoisoned(self.0.state.lock()).waiters.poll(id, waker, clone)
    }

    /// Does something under the lock, and wakes whom it concerns when it is released.
    pub(super) fn critical<T>(&self, now: Timestamp, act: impl FnOnce(&mut Locked<'_>) -> T) -> T {
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

    /// Changes the numbers.
    pub(super) fn change<T>(&self, change: impl Fn(&mut Counts) -> T) -> T {
        let changed = self.shared.counter.change(|counts| Some(change(counts)));
        changed.unwrap_or_else(|| unreachable!("the closure never says no"))
    }

    /// What is to be done before the lock is released.
    fn end(self) {
        let counts = self.counts();
        if counts.is_draining && counts.is_idle() {
            mem::take(&mut self.state.idle).into_values().for_each(|waker| self.wakes.add(waker));
        }
        self.invariants();
    }

    /// Says to somebody who has waited what became of it.
    pub(super) fn tell(&mut self, id: Id, stage: Stage) {
        let waiter = &mut self.state.waiters[id];
        debug_assert!(waiter.is_waiting());
        waiter.stage = stage;
        waiter.waker.take().into_iter().for_each(|waker| self.wakes.add(waker));
    }

    /// The refusal, with a time to come back where it is for want of capacity.
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

    /// When the next who is refused is to come back.
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

    /// Checked after every change, in debug builds.
    fn invariants(&self) {
        let counts = self.counts();
        let queued = self.state.queued;
        debug_assert_eq!(queued as usize, self.state.line.len());
        debug_assert_eq!(queued > 0, counts.has_queue);
        debug_assert!(queued <= self.shared.rules.queue.min(GateRules::MAX_QUEUE));
        debug_assert!(queued == 0 || !counts.has_room(), "somebody waits for nothing");
        let it = &self.state.outcomes;
        // Of those who were shed, drained or timed out, some did not wait before.
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

    /// WakeList all of them.
    ///
    /// Whoever leaves or comes has no part in it if the waker of another panics, and may be
    /// unwinding already; and those who are woken after that one have their permits by now. So the
    /// panic ends here, once its hook has told of it.
    fn wake(self) {
        let wake = |waker: Waker| drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
        if let Some(first) = self.first {
            wake(first);
        }
        self.others.into_iter().for_each(wake);
    }
}
