//! A place among the requests that are held.

use std::sync::{Arc, atomic::Ordering};

use smallvec::SmallVec;

use super::{handle::Spent, stage::RateStage};

/// A request that is held until its turn. One that goes away before gives its place in the queue
/// back, if nobody stands behind it.
///
/// The other limits stay charged: a client that could take its requests back would never reach
/// them, and keep the queue full for nothing (as with the rapid reset of HTTP/2, CVE-2023-44487).
pub(crate) struct QueuePlace {
    stage: Arc<RateStage>,
    /// Of the queues alone.
    spent: SmallVec<[Spent; 2]>,
}

impl QueuePlace {
    /// Takes a place, unless as many requests are held as may be.
    pub(super) fn take(stage: &Arc<RateStage>) -> Option<Self> {
        let place = Self { stage: Arc::clone(stage), spent: SmallVec::new() };
        // The count of one that finds no place is taken back when it is dropped.
        let held = stage.held.fetch_add(1, Ordering::Relaxed);
        (held < stage.max_held).then_some(place)
    }

    /// Adds what is given back with the place.
    pub(super) fn with(mut self, spent: impl Iterator<Item = Spent>) -> Self {
        self.spent.extend(spent);
        self
    }

    /// It is its turn.
    pub(crate) fn go_on(mut self) {
        self.spent.clear();
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.stage.held.fetch_sub(1, Ordering::Relaxed);
        if !self.spent.is_empty() {
            let now = (self.stage.now)();
            self.spent.iter_mut().for_each(|spent| spent.settle(0, now));
        }
    }
}
