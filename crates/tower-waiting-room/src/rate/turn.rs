//! The turn of a request in a leaky queue.
//!
//! A [leaky queue](waiting_room_core::rate::Algorithm::LeakyQueue) allows a request with a delay.
//! The meter of the queue only computes the delay. This module holds the request until its turn,
//! and bounds the number of held requests: each of them takes a place among the [`HeldRequests`] of
//! its layer.
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

/// The number of requests that all leaky queues of a layer hold together, and the maximum for this
/// number.
#[derive(Debug)]
pub(super) struct HeldRequests {
    /// The number of requests that are currently held. The count briefly exceeds `max` while a
    /// request is being turned away.
    count: AtomicUsize,
    /// The maximum number of requests that may be held at a time.
    max: usize,
}

/// A request that is held until its turn.
///
/// Dropping this value before the turn frees the request's place in the queue, unless another
/// request is already waiting behind it, because the time of that other request is
/// fixed.
///
/// The charges of other limits are not refunded. Otherwise, a client that keeps withdrawing its
/// requests would never reach these limits, and could keep the queue full at no cost (compare the
/// rapid reset attack on HTTP/2, CVE-2023-44487).
pub(crate) struct Turn {
    /// The timer that fires when the request's turn comes.
    sleep: Pin<Box<Sleep>>,
    /// The place that the request holds until its turn.
    place: HeldRequest,
}

/// A place among the requests that are held. Dropping this value frees the place.
pub(super) struct HeldRequest {
    held: Arc<HeldRequests>,
    /// The charges of the leaky queues, which are refunded on drop. The list is cleared when the
    /// request's turn comes.
    spent: SmallVec<[Spent; 2]>,
    /// The clock that supplies the time of a refund.
    clock: StageClock,
}

impl HeldRequests {
    /// Creates a counter that allows `max` held requests.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), max })
    }
}

impl Turn {
    /// Holds a request for `delay`. This function requires a tokio runtime with a timer.
    pub(super) fn after(delay: Duration, place: HeldRequest) -> Box<Self> {
        Box::new(Self { sleep: Box::pin(sleep(delay)), place })
    }

    /// Ends the hold early, for shadow mode. The charges remain, because the request is forwarded.
    pub(crate) fn skip(mut self) {
        self.place.spent.clear();
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.sleep.as_mut().poll(cx);
        if turn.is_ready() {
            // The queue has served this request, so the charge must not be refunded when `self` is
            // dropped.
            self.place.spent.clear();
        }
        turn
    }
}

impl HeldRequest {
    /// Takes a place, or returns `None` if the bound on held requests is reached.
    pub(super) fn take(held: &Arc<HeldRequests>, clock: &StageClock) -> Option<Self> {
        let place = Self { held: Arc::clone(held), spent: SmallVec::new(), clock: clock.clone() };
        // Incrementing before comparing prevents two requests from both taking the last place. If
        // there is no free place, dropping `place` decrements the count again. The counter guards
        // no other memory, so relaxed ordering is sufficient.
        let count = held.count.fetch_add(1, Ordering::Relaxed);
        (count < held.max).then_some(place)
    }

    /// Adds charges that are refunded if the place is dropped before the turn.
    pub(super) fn with(mut self, spent: impl Iterator<Item = Spent>) -> Self {
        self.spent.extend(spent);
        self
    }
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        self.held.count.fetch_sub(1, Ordering::Relaxed);
        if !self.spent.is_empty() {
            // Settling never blocks, because a charge in a store is corrected in the background.
            let now = self.clock.now();
            self.spent.iter_mut().for_each(|spent| spent.settle(0, now));
        }
    }
}
