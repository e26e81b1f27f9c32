//! A line with one lane for all requests.

use super::lane::{Lane, Line};
use crate::{
    Timestamp,
    gate::waiters::{Id, Waiters},
};

/// A line that serves requests in order of arrival. Under overload, an adaptive LIFO serves the
/// newest request first instead.
#[derive(Default)]
pub(in crate::gate) struct Single {
    lane: Lane,
    /// Whether the line is an adaptive LIFO, which serves the newest request first under overload
    /// and evicts the oldest request from a full queue.
    is_adaptive_lifo: bool,
}

impl Single {
    pub(in crate::gate) fn adaptive_lifo() -> Self {
        Self { is_adaptive_lifo: true, ..Self::default() }
    }

    pub(in crate::gate) fn fifo() -> Self {
        Self::default()
    }
}

impl Line for Single {
    fn lane(&self, _: u8, _: u64) -> u64 {
        0
    }

    fn push(&mut self, id: Id, waiters: &mut Waiters) {
        self.lane.push(id, waiters);
    }

    fn next(
        &mut self,
        _: Timestamp,
        is_standing: bool,
        _: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id> {
        if self.is_adaptive_lifo && is_standing {
            self.lane.pop_last(waiters)
        } else {
            self.lane.pop_first(waiters)
        }
    }

    fn evict_for(&mut self, _: u64, waiters: &mut Waiters) -> Option<Id> {
        if self.is_adaptive_lifo { self.lane.pop_first(waiters) } else { None }
    }

    fn remove(&mut self, id: Id, waiters: &mut Waiters) {
        self.lane.remove(id, waiters);
    }

    fn ahead(&self, _: u64, is_standing: bool) -> usize {
        if self.is_adaptive_lifo && is_standing { 0 } else { self.lane.len() }
    }

    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp> {
        self.lane.oldest(waiters)
    }

    fn len(&self) -> usize {
        self.lane.len()
    }
}
