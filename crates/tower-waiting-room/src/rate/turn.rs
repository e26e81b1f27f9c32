//! The turn of a request in a leaky queue.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use smallvec::SmallVec;
use tokio::time::{Sleep, sleep};
use waiting_room_core::Clock;

use super::handle::Spent;
use crate::ambient::StageClock;

/// How many requests the leaky queues of a layer hold, of those that they may.
#[derive(Debug)]
pub(super) struct HeldRequests {
    count: AtomicUsize,
    max: usize,
}

/// A request that is held until its turn. Dropped before, it gives its place in the queue back, if
/// no other stands behind it.
///
/// The other limits stay charged: a client that could take its requests back would never reach
/// them, and keep the queue full for nothing (as with the rapid reset of HTTP/2, CVE-2023-44487).
pub(crate) struct Turn {
    sleep: Pin<Box<Sleep>>,
    place: HeldRequest,
}

/// A place among the requests that are held.
pub(super) struct HeldRequest {
    held: Arc<HeldRequests>,
    /// Of the queues alone.
    spent: SmallVec<[Spent; 2]>,
    clock: StageClock,
}

impl HeldRequests {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), max })
    }
}

impl Turn {
    pub(super) fn after(delay: Duration, place: HeldRequest) -> Box<Self> {
        Box::new(Self { sleep: Box::pin(sleep(delay)), place })
    }

    /// Has the request go on at once, with its place used up.
    pub(crate) fn skip(mut self) {
        self.place.spent.clear();
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.sleep.as_mut().poll(cx);
        if turn.is_ready() {
            self.place.spent.clear();
        }
        turn
    }
}

impl HeldRequest {
    /// Takes a place, unless as many requests are held as may be.
    pub(super) fn take(held: &Arc<HeldRequests>, clock: &StageClock) -> Option<Self> {
        let place = Self { held: Arc::clone(held), spent: SmallVec::new(), clock: clock.clone() };
        // The count of one that finds no place is taken back when it is dropped.
        let count = held.count.fetch_add(1, Ordering::Relaxed);
        (count < held.max).then_some(place)
    }

    /// Adds what is given back with the place.
    pub(super) fn with(mut self, spent: impl Iterator<Item = Spent>) -> Self {
        self.spent.extend(spent);
        self
    }
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        self.held.count.fetch_sub(1, Ordering::Relaxed);
        if !self.spent.is_empty() {
            let now = self.clock.now();
            self.spent.iter_mut().for_each(|spent| spent.settle(0, now));
        }
    }
}
