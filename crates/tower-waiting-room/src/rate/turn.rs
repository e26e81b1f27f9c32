//! The turn of a request in a leaky queue.
//!
//! A [leaky queue](waiting_room_core::rate::Algorithm::LeakyQueue) allows a request with a delay.
//! The meter of the queue only computes the delay. This module holds the request until then, and
//! bounds how many are held: each takes a place among the [`HeldRequests`] of its layer.
//!
//! ```text
//! HeldRequest::take ─┬─► no place: the request is refused
//!                    └─► Turn ─┬─► its time comes, or it is skipped: the charges stay
//!                              └─► dropped before: the queues get their charges back
//! ```

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
use waiting_room_core::time::Clock;

use super::handle::Spent;
use crate::ambient::StageClock;

/// The number of requests that all leaky queues of a layer hold, and its bound.
#[derive(Debug)]
pub(super) struct HeldRequests {
    /// Requests held now. Exceeds `max` for the instant in which a request is turned away.
    count: AtomicUsize,
    /// The most requests held at a time.
    max: usize,
}

/// A request that is held until its turn.
///
/// Dropping it before its turn gives its place in the queue back, unless another request stands
/// behind it, whose time is fixed already.
///
/// The other limits stay charged. A client that could take its requests back would never reach them
/// and could keep the queue full for nothing (compare the rapid reset of HTTP/2, CVE-2023-44487).
pub(crate) struct Turn {
    /// Completes at the turn.
    sleep: Pin<Box<Sleep>>,
    /// The place that the request holds until then.
    place: HeldRequest,
}

/// A place among the requests that are held. Dropping it frees the place.
pub(super) struct HeldRequest {
    held: Arc<HeldRequests>,
    /// The charges of the leaky queues alone, which are given back on drop. Emptied at the turn.
    spent: SmallVec<[Spent; 2]>,
    /// Supplies the time at which the charges are given back.
    clock: StageClock,
}

impl HeldRequests {
    /// A counter that allows `max` held requests.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), max })
    }
}

impl Turn {
    /// Holds a request for `delay`. Requires a tokio runtime with a timer.
    pub(super) fn after(delay: Duration, place: HeldRequest) -> Box<Self> {
        Box::new(Self { sleep: Box::pin(sleep(delay)), place })
    }

    /// Ends the hold early, as shadow mode does. The charges stay: the request goes on.
    pub(crate) fn skip(mut self) {
        self.place.spent.clear();
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.sleep.as_mut().poll(cx);
        if turn.is_ready() {
            // The queue has served this request. The drop that follows must not refund it.
            self.place.spent.clear();
        }
        turn
    }
}

impl HeldRequest {
    /// Takes a place; `None` if the bound on held requests is reached.
    pub(super) fn take(held: &Arc<HeldRequests>, clock: &StageClock) -> Option<Self> {
        let place = Self { held: Arc::clone(held), spent: SmallVec::new(), clock: clock.clone() };
        // Counting before comparing keeps two requests from taking the last place. Without a place,
        // dropping `place` takes the count back. The counter guards no other memory, so the
        // ordering is relaxed.
        let count = held.count.fetch_add(1, Ordering::Relaxed);
        (count < held.max).then_some(place)
    }

    /// Adds charges that are given back if the place is dropped before the turn.
    pub(super) fn with(mut self, spent: impl Iterator<Item = Spent>) -> Self {
        self.spent.extend(spent);
        self
    }
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        self.held.count.fetch_sub(1, Ordering::Relaxed);
        if !self.spent.is_empty() {
            // Settling never blocks: a charge in a store is corrected in the background.
            let now = self.clock.now();
            self.spent.iter_mut().for_each(|spent| spent.settle(0, now));
        }
    }
}
