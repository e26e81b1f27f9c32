//! A request that waits for a permit.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::Request;
use tokio::time::{Sleep, sleep};
use waiting_room_core::{GateRefused, Permit, Place, Timestamp};

#[cfg(feature = "axum")]
use super::disconnect::Watch;
use super::{lease::HeldAll, registry::NamedGate};
use crate::telemetry::GateEvent;

/// A request in the queue of a gate, with the permits of those it went through before.
pub(crate) struct Waiting {
    /// `None` once it is over.
    place: Option<Place>,
    sleep: Pin<Box<Sleep>>,
    #[cfg(feature = "axum")]
    watch: Option<Watch>,
    /// `None` at the end.
    at: Option<Queued>,
}

/// Where a request waits.
pub(crate) struct Queued {
    pub(crate) held: HeldAll,
    pub(crate) gate: NamedGate,
    /// Which of the gates comes after.
    pub(crate) next: usize,
    /// When the request came, of which its client counts the time.
    pub(crate) since: Timestamp,
}

/// What became of a request that waited.
pub(crate) enum Waited {
    /// Its client has left.
    #[cfg_attr(not(feature = "axum"), expect(dead_code, reason = "no body can be watched"))]
    Gone,
    Granted(Permit),
    Refused(GateRefused),
}

impl Waiting {
    pub(super) fn new(place: Place, at: Queued, now: Timestamp) -> Self {
        let sleep = Box::pin(sleep(place.deadline().since(now)));
        Self {
            place: Some(place),
            sleep,
            #[cfg(feature = "axum")]
            watch: None,
            at: Some(at),
        }
    }

    /// Watches the body from now on, as far as it can be.
    #[cfg_attr(not(feature = "axum"), expect(unused_variables, reason = "no body can be watched"))]
    pub(crate) fn watch<B: 'static>(&mut self, request: &mut Request<B>) {
        #[cfg(feature = "axum")]
        {
            let bound = self.at.as_ref().map_or(0, |at| at.gate.concurrency().watched_bytes);
            self.watch = Watch::new(request, bound);
        }
    }

    /// What becomes of it: the grant before the timer, so that a permit that comes at the last
    /// instant is used.
    #[cfg_attr(not(feature = "axum"), expect(unused_variables, reason = "no body can be watched"))]
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<Waited> {
        let place = self.place.as_mut().expect("polled after completion");
        let told = match Pin::new(place).poll(cx) {
            Poll::Ready(told) => Some(told),
            Poll::Pending if self.sleep.as_mut().poll(cx).is_ready() => {
                self.place.take().map(Place::time_out)
            }
            Poll::Pending => None,
        };
        if let Some(told) = told {
            self.place = None;
            return Poll::Ready(told.map_or_else(Waited::Refused, Waited::Granted));
        }
        #[cfg(feature = "axum")]
        if let Some(watch) = &mut self.watch
            && watch.poll(body, cx).is_ready()
        {
            return Poll::Ready(Waited::Gone);
        }
        Poll::Pending
    }

    /// Ends it: what was read of the body is put back, and a place that it still has is free.
    #[cfg_attr(not(feature = "axum"), expect(unused_variables, reason = "no body can be watched"))]
    pub(crate) fn end<B: 'static>(mut self, body: &mut B) -> Queued {
        #[cfg(feature = "axum")]
        if let Some(watch) = self.watch.take() {
            watch.give_back(body);
        }
        self.leave();
        self.at.take().expect("it is ended once")
    }

    /// Ends it for a request that runs in any case, in shadow mode.
    pub(crate) fn pass_by(mut self) {
        if let (Some(place), Some(at)) = (self.place.take(), &self.at) {
            drop(place);
            at.gate.report(GateEvent::OverShadow);
        }
    }

    fn leave(&mut self) {
        if let (Some(place), Some(at)) = (self.place.take(), &self.at) {
            drop(place);
            at.gate.report(GateEvent::Cancelled);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.leave();
    }
}
