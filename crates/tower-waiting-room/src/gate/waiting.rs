//! A request that waits for a permit.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::{Sleep, sleep};
use waiting_room_core::{Acquire, GateRefused, Permit, Timestamp};

use super::registry::GateRef;
use crate::{request::DisconnectProbe, telemetry::GateEvent};

/// A request in the queue of a gate. Dropped, it leaves the queue.
pub(crate) struct Waiting {
    /// `None` once it is over.
    place: Option<Acquire>,
    sleep: Pin<Box<Sleep>>,
    probe: DisconnectProbe,
    /// `None` at the end.
    at: Option<Queued>,
}

/// Where a request waits.
pub(super) struct Queued {
    pub(super) gate: GateRef,
    /// The index of the gate that comes after.
    pub(super) next: usize,
    /// The time at which the request arrived, from which its client counts.
    pub(super) since: Timestamp,
}

/// A request that has waited, and the end of its wait.
pub(crate) struct Waited {
    pub(super) at: Queued,
    pub(super) end: WaitEnd,
}

/// The end of a wait.
pub(super) enum WaitEnd {
    /// The client has left.
    Gone,
    Granted(Permit),
    Refused(GateRefused),
}

impl Waiting {
    /// Waits in `place`, where up to `watched_bytes` of the body are read to notice a client that
    /// leaves.
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

    /// Waits. At the end, what was read of the body is put back, and the place is free.
    ///
    /// # Panics
    ///
    /// If it is polled again after it was ready.
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

    /// Has the request run in any case, in shadow mode.
    pub(crate) fn skip(mut self) {
        self.leave(GateEvent::OverShadow);
    }

    /// The grant is looked at before the timer, so that a permit that comes at the last instant is
    /// used.
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

    /// Gives the place up, if it is still there, and reports why.
    fn leave(&mut self, why: GateEvent) {
        if let (Some(place), Some(at)) = (self.place.take(), &self.at) {
            drop(place);
            at.gate.report(why);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.leave(GateEvent::Cancelled);
    }
}
