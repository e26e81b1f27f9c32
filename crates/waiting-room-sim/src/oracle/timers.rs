//! What changes by itself, and when.

use std::{cmp::Reverse, collections::BinaryHeap};

use waiting_room_core::Timestamp;

use super::limits::VisitorNo;

/// The changes to come, soonest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Timestamp, Timer)>>);

/// A change that time brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// An admission has left the minute.
    LeaveMinute,
    /// From here on this request, if it is still under way, may be a new admission.
    MayBeNew(VisitorNo, u64),
    /// From here on this request, if it is still under way, may take a slot beside the one that
    /// its visitor has.
    MayTakeSlot(VisitorNo, u64),
    /// This session may have lapsed.
    Session(VisitorNo, u64),
    /// A slot that a visitor may hold without knowing it is free again.
    StraySlot,
}

impl Timers {
    pub(super) fn set(&mut self, at: Timestamp, timer: Timer) {
        self.0.push(Reverse((at, timer)));
    }

    /// The next change that is due at `now`.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Timer)> {
        if self.0.peek()?.0.0 > now {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}
