//! Somebody in the queue of a gate.
//!
//! ```text
//! WAITING ─► GRANTED ─► TAKEN
//!    │          └─ dropped ─► the permit goes to the next
//!    └─► CANCELLED, DRAINED, EVICTED, EXPIRED, SHED
//! ```
//!
//! Whoever has been told what became of it is not kept: there is no stage for it.

use std::task::Waker;

use super::{
    permit::Grant,
    refused::{GateRefused, RefusedBecause},
    waiters::Id,
};
use crate::Timestamp;

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
