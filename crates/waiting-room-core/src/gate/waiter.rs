//! Somebody in the queue of a gate.
//!
//! ```text
//! WAITING ─► GRANTED ─► TAKEN
//!    │          └─ dropped ─► the permit goes to the next
//!    └─► CANCELLED, DRAINED, EVICTED, EXPIRED, SHED
//! ```
//!
//! What a waiter is, is written under the lock of the gate alone, and read under its own: whoever
//! waits asks often and should not stand in the way of those who leave.

use std::{
    mem,
    task::{Context, Poll, Waker},
};

use super::{
    permit::Grant,
    refused::{GateRefused, RefusedBecause},
    sync::{Mutex, lock},
};
use crate::Timestamp;

/// Somebody who waits for a permit.
pub(super) struct Waiter {
    /// Which of those in the queue: a later one has a higher number.
    pub(super) number: u64,
    /// Which part of the queue it stands in.
    pub(super) lane: u64,
    pub(super) class: u8,
    pub(super) since: Timestamp,
    /// The last instant at which a permit is of use.
    pub(super) deadline: Timestamp,
    /// What it is told if that passes.
    pub(super) on_deadline: RefusedBecause,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    waker: Option<Waker>,
}

/// What became of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It went away.
    Cancelled,
    Granted(Grant),
    Refused(GateRefused),
    /// Whoever waited knows what became of it.
    Taken,
    Waiting,
}

impl Waiter {
    pub(super) fn new(
        number: u64,
        lane: u64,
        class: u8,
        since: Timestamp,
        (deadline, on_deadline): (Timestamp, RefusedBecause),
    ) -> Self {
        let state = Mutex::new(State { stage: Stage::Waiting, waker: None });
        Self { number, lane, class, since, deadline, on_deadline, state }
    }

    /// What became of it, told once; whoever hears that it still waits is woken when that changes.
    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<Stage> {
        // Made before the lock is taken, and the old one dropped after it is released: both are
        // foreign code.
        let mut waker = Some(cx.waker().clone());
        let mut state = lock(&self.state);
        if state.stage == Stage::Waiting {
            mem::swap(&mut state.waker, &mut waker);
            drop(state);
            return Poll::Pending;
        }
        Poll::Ready(state.take())
    }

    /// The same for somebody who does not wait any longer.
    pub(super) fn take(&self) -> Stage {
        lock(&self.state).take()
    }

    /// Whether it still waits.
    pub(super) fn is_waiting(&self) -> bool {
        lock(&self.state).stage == Stage::Waiting
    }

    /// Makes one who waits into something else. To be called under the lock of the gate, where
    /// nobody else does.
    pub(super) fn becomes(&self, stage: Stage) {
        let mut state = lock(&self.state);
        debug_assert_eq!(state.stage, Stage::Waiting);
        state.stage = stage;
    }

    /// The waker, to be woken once no lock is held.
    pub(super) fn waker(&self) -> Option<Waker> {
        lock(&self.state).waker.take()
    }
}

impl State {
    fn take(&mut self) -> Stage {
        mem::replace(&mut self.stage, Stage::Taken)
    }
}
