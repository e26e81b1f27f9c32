//! A request that waits for a permit.
//!
//! Three things can end the wait, and they are polled in this order:
//!
//! 1. **The grant.** The gate has given a permit to this place in the queue.
//! 2. **The timer.** The deadline that the discipline or the client has set is over.
//! 3. **The body.** The client has disconnected, which a server of HTTP/1 notices only while the
//!    body is read.
//!
//! The order matters at the last instant: a permit that is granted together with the deadline is
//! used, and not given back to the gate.
//!
//! The place is given up exactly once, whether the wait ends, is skipped, or is dropped together
//! with the future of the response.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::{Sleep, sleep};
use waiting_room_core::{
    Timestamp,
    gate::{Acquire, GateRefused, Permit},
};

use super::registry::GateRef;
use crate::{request::DisconnectProbe, telemetry::GateEvent};

/// A request in the queue of a gate.
///
/// # Cancel safety
///
/// Dropping it leaves the queue. A permit that was granted but not yet taken goes to the next
/// waiter.
pub(crate) struct Waiting {
    /// `None` once the wait is over. Dropped before `at`: the place counts as a use of the gate,
    /// and a gate by key is removed only when `at` is dropped as the last use.
    place: Option<Acquire>,
    /// Ends at the deadline of the place.
    sleep: Pin<Box<Sleep>>,
    /// Reads the body of the request to notice a client that disconnects.
    probe: DisconnectProbe,
    /// `None` once [`poll`](Self::poll) has returned it.
    at: Option<Queued>,
}

/// The position of a waiting request among the gates of the layer.
pub(super) struct Queued {
    /// The gate in whose queue it waits.
    pub(super) gate: GateRef,
    /// The index of the gate to visit after the permit is granted.
    pub(super) next: usize,
    /// The time at which the request arrived at the layer. The deadline of the client counts from
    /// here at every gate, not from the start of each wait.
    pub(super) since: Timestamp,
}

/// A request whose wait has ended, and how.
pub(crate) struct Waited {
    pub(super) at: Queued,
    pub(super) end: WaitEnd,
}

/// How a wait ended.
pub(super) enum WaitEnd {
    /// The client has disconnected.
    Gone,
    /// The gate gave a permit.
    Granted(Permit),
    /// The deadline is over, or the gate refused the request while it waited: to make room for
    /// another one, or because the gate is drained.
    Refused(GateRefused),
}

impl Waiting {
    /// Starts to wait in `place`. Up to `watched_bytes` bytes of the body are read meanwhile, to
    /// notice a client that disconnects; with 0 the body is not touched.
    ///
    /// Boxed, since most requests never wait and all of them carry the space for it.
    pub(super) fn new(
        place: Acquire,
        at: Queued,
        watched_bytes: usize,
        now: Timestamp,
    ) -> Box<Self> {
        let sleep = Box::pin(sleep(place.deadline().since(now)));
        let probe = DisconnectProbe::new(watched_bytes);
        Box::new(Self { place: Some(place), sleep, probe, at: Some(at) })
    }

    /// Polls the wait to its end. Then the frames that were read are put back in front of the body,
    /// and the place in the queue is given up.
    ///
    /// # Panics
    ///
    /// Panics if it is polled again after it has returned `Ready`.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<Waited> {
        let end = match self.poll_place(cx) {
            Some(end) => end,
            None if self.probe.poll(body, cx).is_ready() => WaitEnd::Gone,
            None => return Poll::Pending,
        };
        self.probe.give_back(body);
        self.leave(GateEvent::Cancelled);
        let at = self.at.take().expect("a wait ends once");
        Poll::Ready(Waited { at, end })
    }

    /// Ends the wait without a permit, in shadow mode: the request runs although the gate is full.
    pub(crate) fn skip(mut self) {
        self.leave(GateEvent::OverShadow);
    }

    /// Polls the grant and then the timer. Returns `None` while neither is ready.
    ///
    /// `time_out` may still return a permit: another thread can release one between the two polls.
    fn poll_place(&mut self, cx: &mut Context<'_>) -> Option<WaitEnd> {
        let place = self.place.as_mut().expect("polled after completion");
        let end = match Pin::new(place).poll(cx) {
            Poll::Ready(end) => end,
            Poll::Pending if self.sleep.as_mut().poll(cx).is_ready() => {
                self.place.take().map(Acquire::time_out)?
            }
            Poll::Pending => return None,
        };
        self.place = None;
        Some(end.map_or_else(WaitEnd::Refused, WaitEnd::Granted))
    }

    /// Gives the place up and reports `why`. Does nothing if the place has already ended: a granted
    /// or refused request is reported by the stage.
    fn leave(&mut self, why: GateEvent) {
        if let (Some(place), Some(at)) = (self.place.take(), &self.at) {
            drop(place);
            at.gate.report(why);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The client disconnected, or the task was aborted. After a regular end this does nothing.
        self.leave(GateEvent::Cancelled);
    }
}
