//! A request that waits for a permit.
//!
//! The wait ends with one of three events, which are polled in this order:
//!
//! 1. **The grant.** The gate has granted a permit to this place in the queue.
//! 2. **The timer.** The deadline set by the discipline or the client has passed.
//! 3. **The body.** The client has disconnected, which an HTTP/1 server notices only while it reads
//!    the body.
//!
//! The order matters if two events coincide: a permit that is granted at the instant of the
//! deadline is used rather than returned to the gate.
//!
//! The place in the queue is released exactly once, whether the wait ends, is skipped, or is
//! dropped together with the future of the response.

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
/// Dropping this value removes the request from the queue. A permit that was granted but not yet
/// taken goes to the next waiter.
pub(crate) struct Waiting {
    /// The place in the queue, or `None` once the wait is over. This field has to be dropped before
    /// `at`: the place counts as a use of the gate, and dropping `at` removes a gate by key only if
    /// no other use is left.
    place: Option<Acquire>,
    /// The timer that fires at the deadline of the place.
    sleep: Pin<Box<Sleep>>,
    /// The probe that reads the request body to detect that the client has disconnected.
    probe: DisconnectProbe,
    /// The position of the request, or `None` once [`poll`](Self::poll) has returned it.
    at: Option<Queued>,
}

/// The position of a waiting request among the gates of the layer.
pub(super) struct Queued {
    /// The gate in whose queue the request waits.
    pub(super) gate: GateRef,
    /// The index of the gate to visit after the permit is granted.
    pub(super) next: usize,
    /// The time at which the request arrived at the layer. At every gate, the client's deadline is
    /// counted from this time, not from the start of the wait.
    pub(super) since: Timestamp,
}

/// A request whose wait has ended, with the outcome of the wait.
pub(crate) struct Waited {
    pub(super) at: Queued,
    pub(super) end: WaitEnd,
}

/// The outcome of a wait.
pub(super) enum WaitEnd {
    /// The client has disconnected.
    Gone,
    /// The gate granted a permit.
    Granted(Permit),
    /// The deadline has passed, or the gate refused the waiting request, either to make room for
    /// another request or because the gate is being drained.
    Refused(GateRefused),
}

impl Waiting {
    /// Starts to wait in `place`. Meanwhile, up to `watched_bytes` bytes of the body are read, to
    /// detect that the client has disconnected. With 0, the body is not read.
    ///
    /// The value is boxed, because every request would otherwise reserve space for a wait, and most
    /// requests never wait.
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

    /// Polls the wait. When the wait ends, the frames that were read are put back in front of the
    /// body, and the place in the queue is released.
    ///
    /// # Panics
    ///
    /// Panics if called again after it has returned `Ready`.
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

    /// Ends the wait without a permit, in shadow mode: the request runs even though the gate is
    /// full.
    pub(crate) fn skip(mut self) {
        self.leave(GateEvent::OverShadow);
    }

    /// Polls the grant and then the timer. Returns `None` while neither is ready.
    ///
    /// `time_out` may still return a permit, because another thread can release one between the two
    /// polls.
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

    /// Releases the place and reports `why`. Does nothing if the place has already been released,
    /// because the stage itself reports granted and refused requests.
    fn leave(&mut self, why: GateEvent) {
        if let (Some(place), Some(at)) = (self.place.take(), &self.at) {
            drop(place);
            at.gate.report(why);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The client disconnected, or the task was aborted. If the wait has already ended, this
        // call does nothing.
        self.leave(GateEvent::Cancelled);
    }
}
