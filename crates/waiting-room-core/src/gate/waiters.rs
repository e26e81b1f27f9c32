//! All in the queue of a gate.
//!
//! They are kept side by side, under the lock of the gate, and the line knows them by number. So
//! nobody who comes takes memory once as many have waited before, and who is handed a permit finds
//! it with the one lock that everything else is under. It is held for a moment only.
//!
//! ```text
//! WAITING ─► GRANTED ─► TAKEN
//!    │          └─ dropped ─► the permit goes to the next
//!    └─► CANCELLED, DRAINED, EVICTED, EXPIRED, SHED
//! ```
//!
//! Whoever has been told what became of it is not kept: there is no stage for it.

use std::{
    mem,
    ops::{Index, IndexMut},
    task::{Poll, Waker},
};

use slab::Slab;

use super::arrival::{GateRefused, RefusedBecause};
use crate::Timestamp;

/// Those who wait, and those who have not heard yet what became of them.
#[derive(Default)]
pub(super) struct Waiters(Slab<Waiter>);

/// Which of them somebody is, until it hears what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(usize);

/// Somebody who waits for a permit.
pub(super) struct Waiter {
    /// Which part of the queue it stands in.
    pub(super) lane: u64,
    pub(super) class: u8,
    pub(super) since: Timestamp,
    /// The last instant at which a permit is of use.
    pub(super) deadline: Timestamp,
    /// What it is told if that passes.
    pub(super) on_deadline: RefusedBecause,
    pub(super) stage: Stage,
    /// Whom to wake, if it was polled.
    pub(super) waker: Option<Waker>,
    /// Its neighbours in the lane, for the lane alone.
    pub(super) before: Option<Id>,
    pub(super) after: Option<Id>,
}

/// What became of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Granted(Grant),
    Refused(GateRefused),
    Waiting,
}

/// The instant at which somebody is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) at: Timestamp,
    /// How many run then, this one included.
    pub(super) in_flight: u32,
}

impl Waiters {
    pub(super) fn insert(&mut self, waiter: Waiter) -> Id {
        Id(self.0.insert(waiter))
    }

    /// Takes out somebody who is in no lane any more. Its waker is not to be dropped under the
    /// lock.
    pub(super) fn remove(&mut self, id: Id) -> Waiter {
        let waiter = self.0.remove(id.0);
        if self.0.is_empty() && self.0.capacity() > KEPT {
            *self = Self::default();
        }
        waiter
    }

    /// What became of somebody, who is taken out then. Whoever still waits is woken when that
    /// changes: by the clone, which is exchanged for the one that is there. Without a clone it is
    /// `None` if the one that is there may wake another than `waker` does.
    pub(super) fn poll(
        &mut self,
        id: Id,
        waker: &Waker,
        clone: &mut Option<Waker>,
    ) -> Option<Poll<Waiter>> {
        let waiter = &mut self[id];
        if !waiter.is_waiting() {
            return Some(Poll::Ready(self.remove(id)));
        }
        let is_woken = clone.is_some()
            || waiter.waker.as_ref().is_some_and(|current| current.will_wake(waker));
        if clone.is_some() {
            mem::swap(&mut waiter.waker, clone);
        }
        is_woken.then_some(Poll::Pending)
    }
}

impl Waiter {
    pub(super) const fn new(
        lane: u64,
        class: u8,
        since: Timestamp,
        (deadline, on_deadline): (Timestamp, RefusedBecause),
    ) -> Self {
        Self {
            lane,
            class,
            since,
            deadline,
            on_deadline,
            stage: Stage::Waiting,
            waker: None,
            before: None,
            after: None,
        }
    }

    /// Whether it still waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.stage == Stage::Waiting
    }
}

impl Index<Id> for Waiters {
    type Output = Waiter;

    fn index(&self, id: Id) -> &Waiter {
        &self.0[id.0]
    }
}

impl IndexMut<Id> for Waiters {
    fn index_mut(&mut self, id: Id) -> &mut Waiter {
        &mut self.0[id.0]
    }
}

/// For so many the memory is kept when nobody waits; that of a larger crowd is given back.
const KEPT: usize = 1_024;

#[cfg(all(test, not(waiting_room_loom)))]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    fn joins(waiters: &mut Waiters) -> Id {
        let never = (Timestamp::MAX, RefusedBecause::TimedOut);
        waiters.insert(Waiter::new(0, 0, Timestamp::ZERO, never))
    }

    #[test]
    fn the_memory_of_a_crowd_is_given_back_when_the_last_of_it_is_gone_and_that_of_a_few_is_kept() {
        for (crowd, is_kept) in [(KEPT / 2, true), (4 * KEPT, false)] {
            let mut waiters = Waiters::default();
            let ids: Vec<_> = (0..crowd).map(|_| joins(&mut waiters)).collect();
            let (last, others) = ids.split_last().unwrap();
            others.iter().for_each(|id| drop(waiters.remove(*id)));
            assert!(waiters.0.capacity() >= crowd);
            drop(waiters.remove(*last));
            assert_eq!(waiters.0.capacity() > 0, is_kept, "{crowd}");
        }
    }

    #[test]
    fn whoever_waits_needs_a_clone_for_another_waker_only_and_it_is_taken_whatever_it_says() {
        let (mut waiters, woken) = (Waiters::default(), Arc::<Woken>::default());
        let (id, waker) = (joins(&mut waiters), Waker::from(Arc::clone(&woken)));
        assert!(waiters.poll(id, &waker, &mut None).is_none());
        // No waker has to say of its clone that it wakes the same.
        let mut clone = Some(waker.clone());
        assert!(matches!(waiters.poll(id, Waker::noop(), &mut clone), Some(Poll::Pending)));
        assert!(clone.is_none());
        assert!(matches!(waiters.poll(id, &waker, &mut None), Some(Poll::Pending)));
        assert!(waiters.poll(id, Waker::noop(), &mut None).is_none());
        waiters[id].waker.take().unwrap().wake();
        assert!(woken.0.load(Ordering::SeqCst));
    }
}
