//! The requests in the queue of a gate.
//!
//! The entries of these requests are stored in one slab under the gate's lock, and the line refers
//! to entries by id. A request that joins the queue allocates no memory unless the slab has to
//! grow. A granted permit is stored in the entry of the request, so a waiting request needs neither
//! its own lock nor its own channel.
//!
//! ```text
//! Waiting ─┬─► Granted ─┬─► poll, time_out: the permit is taken
//!          │            └─► dropped: the permit goes to the next waiter
//!          ├─► Refused ───► poll, time_out: the refusal is returned
//!          └─► time_out, dropped: leaves the queue
//! ```
//!
//! An entry is removed when its outcome is collected, so no stage is needed for a collected
//! outcome.

use std::{
    mem,
    ops::{Index, IndexMut},
    task::{Poll, Waker},
};

use slab::Slab;

use super::arrival::{GateRefused, RefusedBecause};
use crate::Timestamp;

/// The waiting requests, and the requests whose outcome has not been collected yet.
#[derive(Default)]
pub(super) struct Waiters(Slab<Waiter>);

/// Identifies an entry until the entry's outcome is collected. The id may be reused afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(usize);

/// A request that is waiting for a permit, or whose outcome has not been collected yet.
pub(super) struct Waiter {
    /// The number of the request's lane, as assigned by the line.
    pub(super) lane: u64,
    pub(super) class: u8,
    /// The time at which the request arrived.
    pub(super) since: Timestamp,
    /// The latest time at which a permit is still useful to the request.
    pub(super) deadline: Timestamp,
    /// The reason for refusing the request after the deadline.
    pub(super) on_deadline: RefusedBecause,
    pub(super) stage: Stage,
    /// The waker of the last poll, or `None` before the first poll and after the waker has been
    /// taken out to wake the task.
    pub(super) waker: Option<Waker>,
    /// The previous request in the lane. Only the lane reads and writes this link.
    pub(super) before: Option<Id>,
    /// The next request in the lane. Only the lane reads and writes this link.
    pub(super) after: Option<Id>,
}

/// The state of a request in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Granted(Grant),
    Refused(GateRefused),
    Waiting,
}

/// The time at which a request was admitted, and the number of requests that were running at that
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) at: Timestamp,
    /// The number of requests that were running at the time of admission, including the admitted
    /// request.
    pub(super) in_flight: u32,
}

impl Waiters {
    pub(super) fn insert(&mut self, waiter: Waiter) -> Id {
        Id(self.0.insert(waiter))
    }

    /// Removes an entry that is no longer in a lane.
    ///
    /// The entry is returned rather than dropped, because the entry may contain a waker, and
    /// dropping a waker runs foreign code. The caller must drop the entry after releasing the lock.
    pub(super) fn remove(&mut self, id: Id) -> Waiter {
        let waiter = self.0.remove(id.0);
        // A slab never shrinks by itself. To release its memory after an unusually large burst of
        // requests, the slab is replaced as soon as no entry is left.
        if self.0.is_empty() && self.0.capacity() > KEPT {
            *self = Self::default();
        }
        waiter
    }

    /// Polls an entry. If the outcome is available, the entry is removed and returned as `Ready`.
    ///
    /// While the request is waiting, the result depends on the waker:
    ///
    /// - If `clone` contains a clone of the waker, the clone is stored, the old waker is moved into
    ///   `clone`, and the result is `Pending`.
    /// - If `clone` is empty and the stored waker wakes the same task as `waker`, the result is
    ///   `Pending`.
    /// - Otherwise, the result is `None`, and the caller must clone the waker and poll again.
    ///
    /// The caller clones and drops wakers outside the lock, because cloning and dropping a waker
    /// run foreign code. In contrast, `will_wake` only compares pointers and may be called under
    /// the lock.
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
        // A clone is stored without checking `will_wake` again, because `will_wake` may return
        // false even for a clone of the same waker. With such a check, the caller could keep making
        // clones forever.
        if clone.is_some() {
            mem::swap(&mut waiter.waker, clone);
        }
        is_woken.then_some(Poll::Pending)
    }
}

impl Waiter {
    /// Creates a waiting entry. The deadline is paired with the reason for refusing the request
    /// after the deadline.
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

    /// Returns whether the request is still waiting and is therefore in a lane.
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

/// The maximum capacity that an empty slab retains. The memory of a larger empty slab is released.
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
    fn the_memory_of_a_crowd_is_freed_with_its_last_waiter() {
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
    fn a_waiter_clones_its_waker_only_for_another_one() {
        let mut waiters = Waiters::default();
        let woken = Arc::<Woken>::default();
        let id = joins(&mut waiters);
        let waker = Waker::from(Arc::clone(&woken));
        assert!(waiters.poll(id, &waker, &mut None).is_none());
        // `will_wake` may return false for a clone, so the clone is stored regardless of that
        // result.
        let mut clone = Some(waker.clone());
        assert!(matches!(waiters.poll(id, Waker::noop(), &mut clone), Some(Poll::Pending)));
        assert!(clone.is_none());
        assert!(matches!(waiters.poll(id, &waker, &mut None), Some(Poll::Pending)));
        assert!(waiters.poll(id, Waker::noop(), &mut None).is_none());
        waiters[id].waker.take().unwrap().wake();
        assert!(woken.0.load(Ordering::SeqCst));
    }
}
