//! The interface of all lines, and the lanes that lines consist of.

use std::iter;

use crate::{
    Timestamp,
    gate::waiters::{Id, Waiters},
};

/// The waiting requests of a gate, in the order that its discipline determines. The gate bounds the
/// number of waiting requests.
///
/// All methods run under the gate's lock, so none of them iterates over the whole line. The cost of
/// a method grows with the number of classes, or with the logarithm of the number of lanes. Only
/// [`oldest`](Self::oldest) visits every lane, and this method is called only for snapshots.
pub(in crate::gate) trait Line: Send {
    /// Returns the lane that a request of this class and tenant joins.
    fn lane(&self, class: u8, tenant: u64) -> u64;

    /// Adds a request at the end of the lane that the request's entry specifies.
    fn push(&mut self, id: Id, waiters: &mut Waiters);

    /// Removes and returns the next request, or returns `None` if the line is empty.
    ///
    /// The `is_standing` argument indicates whether the queue has been non-empty for long enough to
    /// count as overload. The `running` closure returns the number of running requests of a class.
    fn next(
        &mut self,
        now: Timestamp,
        is_standing: bool,
        running: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id>;

    /// Removes and returns a request to make room for a newcomer that would join `lane`. Returns
    /// `None` if the newcomer has no precedence over any waiting request.
    fn evict_for(&mut self, lane: u64, waiters: &mut Waiters) -> Option<Id>;

    /// Removes a request that is in the line.
    fn remove(&mut self, id: Id, waiters: &mut Waiters);

    /// Returns a lower bound on the number of requests that will be served before a request that
    /// joins `lane` now.
    fn ahead(&self, lane: u64, is_standing: bool) -> usize;

    /// Returns the arrival time of the request that has waited the longest, or `None` if the line
    /// is empty.
    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp>;

    /// Returns the number of requests in the line.
    fn len(&self) -> usize;
}

/// A doubly linked list of waiting requests.
///
/// Joining a lane and leaving it from any position take constant time. The links are stored in the
/// entries of the requests, so a lane allocates no memory.
#[derive(Default)]
pub(super) struct Lane {
    first: Option<Id>,
    last: Option<Id>,
    len: usize,
}

impl Lane {
    /// Adds a request that is not in any lane yet to the end of this lane.
    pub(super) fn push(&mut self, id: Id, waiters: &mut Waiters) {
        waiters[id].before = self.last;
        waiters[id].after = None;
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

    /// Removes a request from this lane.
    pub(super) fn remove(&mut self, id: Id, waiters: &mut Waiters) {
        let before = waiters[id].before;
        let after = waiters[id].after;
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

    /// Returns the requests in order.
    pub(super) fn iter<'a>(&self, waiters: &'a Waiters) -> impl Iterator<Item = Id> + use<'a> {
        iter::successors(self.first, |id| waiters[*id].after)
    }

    /// Returns the arrival time of the first request, which has waited the longest.
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
