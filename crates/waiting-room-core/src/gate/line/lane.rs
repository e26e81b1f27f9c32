//! What a line answers, whatever its discipline, and the lanes that it is made of.

use crate::{
    Timestamp,
    gate::waiters::{Id, Waiters},
};

/// Those who wait, in the order of a discipline. Its bound is the gate's.
pub(in crate::gate) trait Line: Send {
    /// Which lane somebody of this class and tenant joins.
    fn lane(&self, class: u8, tenant: u64) -> u64;

    /// Adds somebody to its lane.
    fn push(&mut self, id: Id, waiters: &mut Waiters);

    /// Takes out who is next. `is_standing` says whether the queue has not been empty for long, and
    /// `running` how many of a class run.
    fn next(
        &mut self,
        now: Timestamp,
        is_standing: bool,
        running: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id>;

    /// Takes out who makes room for somebody who would join a lane; nobody, if it has to go itself.
    fn evict_for(&mut self, lane: u64, waiters: &mut Waiters) -> Option<Id>;

    /// Takes out one.
    fn remove(&mut self, id: Id, waiters: &mut Waiters);

    /// How many at least are served before somebody who joins a lane now.
    fn ahead(&self, lane: u64, is_standing: bool) -> usize;

    /// Since when the one waits who has waited the longest.
    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp>;

    /// How many wait.
    fn len(&self) -> usize;
}

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
