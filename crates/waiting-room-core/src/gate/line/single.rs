//! All in one lane.

use super::{Arc, Lane, Line, Timestamp, Waiter, oldest_of};

/// A line in the order of arrival.
pub(super) struct Single {
    waiters: Lane,
    /// Whether it turns round while it stands.
    is_adaptive_lifo: bool,
}

impl Single {
    pub(super) const fn adaptive_lifo() -> Self {
        Self { waiters: Lane::new(), is_adaptive_lifo: true }
    }

    pub(super) const fn fifo() -> Self {
        Self { waiters: Lane::new(), is_adaptive_lifo: false }
    }
}

impl Line for Single {
    fn lane(&self, _: u8, _: u64) -> u64 {
        0
    }

    fn push(&mut self, waiter: Arc<Waiter>) {
        self.waiters.insert(waiter.number, waiter);
    }

    fn next(
        &mut self,
        _: Timestamp,
        is_standing: bool,
        _: &dyn Fn(u8) -> u32,
    ) -> Option<Arc<Waiter>> {
        let next = match self.is_adaptive_lifo && is_standing {
            true => self.waiters.pop_last(),
            false => self.waiters.pop_first(),
        };
        next.map(|(_, waiter)| waiter)
    }

    fn evict_for(&mut self, _: u64) -> Option<Arc<Waiter>> {
        if !self.is_adaptive_lifo {
            return None;
        }
        self.waiters.pop_first().map(|(_, waiter)| waiter)
    }

    fn remove(&mut self, waiter: &Waiter) {
        self.waiters.remove(&waiter.number);
    }

    fn ahead(&self, _: u64, is_standing: bool) -> usize {
        if self.is_adaptive_lifo && is_standing { 0 } else { self.waiters.len() }
    }

    fn oldest(&self) -> Option<Timestamp> {
        oldest_of(&self.waiters)
    }

    fn len(&self) -> usize {
        self.waiters.len()
    }
}
