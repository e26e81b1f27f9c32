//! Who lapses when: a queue of deadlines, soonest first.

use std::collections::BTreeSet;

use crate::{Timestamp, VisitorId};

/// One deadline for each of many visitors. The owner remembers which, to move or to cancel it.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(Timestamp, VisitorId)>);

impl Deadlines {
    /// Sets a deadline for a visitor who has none.
    pub(super) fn set(&mut self, at: Timestamp, id: VisitorId) {
        self.0.insert((at, id));
    }

    /// Cancels the deadline that was set for `at`.
    pub(super) fn cancel(&mut self, at: Timestamp, id: VisitorId) {
        self.0.remove(&(at, id));
    }

    /// Takes a visitor whose deadline has come, the one that is longest past first.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<VisitorId> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.pop_first()
    }

    /// Takes the visitor with the soonest deadline, due or not.
    pub(super) fn pop_first(&mut self) -> Option<VisitorId> {
        self.0.pop_first().map(|(_, id)| id)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
