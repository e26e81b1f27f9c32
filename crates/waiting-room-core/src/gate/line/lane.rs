//! Some of those who wait, in the order in which they came.

use super::{Id, Timestamp, Waiters};

/// A list that runs through those in it: who joins, is next or leaves from amid the others does so
/// in a few steps, however long it is.
#[derive(Default)]
pub(super) struct Lane {
    first: Option<Id>,
    last: Option<Id>,
    len: usize,
}

impl Lane {
    /// Adds somebody, who is in no lane yet, at the end.
    pub(super) fn push(&mut self, id: Id, waiters: &mut Waiters) {
        waiters[id].before = self.last;
        match self.last.replace(id) {
            Some(last) => waiters[last].after = Some(id),
            None => self.first = Some(id),
        }
        self.len += 1;
    }

    pub(super) fn pop_first(&mut self, waiters: &mut Waiters) -> Option<Id> {
        self.first.inspect(|id| self.remove(*id, waiters))
    }

    pub(super) fn pop_last(&mut self, waiters: &mut Waiters) -> Option<Id> {
        self.last.inspect(|id| self.remove(*id, waiters))
    }

    /// Takes out one of those in it.
    pub(super) fn remove(&mut self, id: Id, waiters: &mut Waiters) {
        let (before, after) = (waiters[id].before, waiters[id].after);
        match before {
            Some(before) => waiters[before].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => waiters[after].before = before,
            None => self.last = before,
        }
        self.len -= 1;
    }

    /// Since when the one waits who has waited the longest.
    pub(super) fn oldest(&self, waiters: &Waiters) -> Option<Timestamp> {
        self.first.map(|id| waiters[id].since)
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }
}
