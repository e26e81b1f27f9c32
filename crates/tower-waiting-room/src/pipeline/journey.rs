//! A request's path through the pipeline: its state, the stages, and the waits between them.
//!
//! There are two kinds of waits. A **question** is a wait for a store's reply, on which the
//! answer to the request depends. A **delay** is a wait that a limit or a gate imposes: for a
//! turn in a leaky queue, or for a permit. Shadow mode waits for questions, because it reports the
//! decisions, and skips delays, because it must not slow requests down.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use waiting_room_core::{Reason, StoreError, Ticket, Timestamp, Verdict, time::Clock};

use crate::{
    ambient::StageClock,
    gate::{Permits, Waited, Waiting},
    rate::{PendingCharge, RateReport, StoreReply, Turn},
    request::Language,
    room::{BoxFuture, Opened, PassRenewal, StreamPlace, Token, TokenSource, Undelivered, Visitor},
};

/// The state of one request, from its arrival to its response.
///
/// # Cancel safety
///
/// Dropping a `Journey` releases everything that the request holds: the permits return to their
/// gates, and a session whose pass was not sent is ended. If the end of a session was not delivered
/// to the store, a later request delivers it. Charges against rate limits are not refunded.
pub(crate) struct Journey {
    /// The stages that the request has not reached yet. A bypassed request has no stages.
    pub(super) ahead: &'static [Stage],
    pub(super) clock: RequestClock,
    /// The part of the request in which the client's token arrived. The next token is sent in the
    /// same way.
    pub(super) source: TokenSource,
    /// The token to send with the response.
    pub(super) token: Option<Token>,
    /// The guard that ends a newcomer's session if the pass in `token` is never sent.
    pub(super) undelivered: Option<Box<Undelivered>>,
    /// The visitor, as currently known from the token and from the room.
    pub(super) visitor: Visitor,
    /// Whether the room accepts the pass of `visitor`, as of the last time that the clock was read.
    pub(super) is_accepted: bool,
    /// The renewal of the pass, if it is in progress.
    pub(super) renewal: Option<Box<PassRenewal>>,
    /// The decisions that the rate limits made for the request; `None` if no limit applies.
    pub(super) report: Option<Box<RateReport>>,
    /// The permits of the gates that the request has passed. The permits move into the body of the
    /// response.
    pub(crate) permits: Permits,
    /// The reason why the request may continue.
    pub(super) admitted: Reason,
    /// In shadow mode, the first reason why the request would have been stopped.
    pub(super) shadowed: Option<Reason>,
    /// The push stream that the request asks for.
    pub(super) opening: Option<Box<Opening>>,
    /// The call that ends the session in the store after the application has ended the session.
    pub(super) leaving: Option<BoxFuture<()>>,
}

/// The clock of one request.
///
/// The clock is read when the first stage needs the time, which is on arrival, because no stage waits
/// before that. It is read again after each wait, so all stages that run without a wait in between use
/// the same time.
#[derive(Default)]
pub(crate) struct RequestClock(Cell<Option<RequestTimes>>);

/// The times of one request.
#[derive(Clone, Copy)]
pub(super) struct RequestTimes {
    /// The time of arrival, from which the client's deadline at a gate is counted.
    pub(super) arrived: Timestamp,
    /// The time that the stages use as the current time.
    pub(super) now: Timestamp,
}

/// A stream that the layer is about to open, or has opened.
pub(crate) struct Opening {
    pub(super) place: StreamPlace,
    /// The language of the sentences in the events, or `None` if the client is not the waiting page
    /// and needs no sentences.
    pub(super) language: Option<Language>,
    /// The store's answer to the first question, once the store has answered.
    pub(super) told: Option<(Ticket, Reason)>,
}

impl RequestClock {
    /// Returns the times of the request by `clock`.
    pub(super) fn times(&self, clock: &StageClock) -> RequestTimes {
        self.0.get().unwrap_or_else(|| {
            let now = clock.now();
            let times = RequestTimes { arrived: now, now };
            self.0.set(Some(times));
            times
        })
    }

    /// Reads the clock again, after a wait.
    fn has_waited(&self, clock: &StageClock) {
        let arrived = self.times(clock).arrived;
        self.0.set(Some(RequestTimes { arrived, now: clock.now() }));
    }
}

impl Journey {
    /// Creates the journey of a request that has just arrived, before anything is known about the
    /// request.
    #[inline]
    pub(crate) fn new(clock: RequestClock) -> Self {
        Self {
            ahead: &[],
            clock,
            source: TokenSource::Cookie,
            token: None,
            undelivered: None,
            visitor: Visitor::Unknown,
            is_accepted: false,
            renewal: None,
            report: None,
            permits: Permits::new(),
            admitted: Reason::AdmittedLimits,
            shadowed: None,
            opening: None,
            leaving: None,
        }
    }

    /// Returns the times of the request by `clock`.
    pub(super) fn times(&self, clock: &StageClock) -> RequestTimes {
        self.clock.times(clock)
    }

    /// Reads the clock again, after a wait.
    pub(super) fn has_waited(&mut self, clock: &StageClock) {
        self.clock.has_waited(clock);
    }

    /// For a request that the layer itself has answered, returns whether nothing is left to do: the
    /// answer's body is set, and no pass is being renewed.
    pub(crate) const fn is_over(&self) -> bool {
        if self.opening.is_some() {
            return false;
        }
        self.renewal.is_none()
    }

    /// Takes the push stream that is to be the body of the answer.
    pub(crate) fn take_opening(&mut self) -> Option<Opening> {
        self.opening.take().map(|opening| *opening)
    }

    /// Returns the reason for the response: why the request continued or, in shadow mode, why it
    /// would have been stopped.
    pub(super) fn reason(&self) -> &Reason {
        self.shadowed.as_ref().unwrap_or(&self.admitted)
    }

    /// Returns the visitor's ticket, which the answer uses to describe the place in the line.
    pub(super) fn ticket(&self) -> Option<&Ticket> {
        match &self.visitor {
            Visitor::Outside(ticket) => ticket.as_ref(),
            Visitor::Proven(Opened::Ticket(ticket)) => Some(ticket),
            Visitor::Inside(_) | Visitor::Preflight | Visitor::Proven(_) | Visitor::Unknown => None,
        }
    }
}

/// A stage on a request's way to the application.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Takes a permit from each gate that covers the request.
    Gates,
    /// Charges the request against the rate limits.
    Limits,
    /// Counts the requests that reach the stage, and lets all of them continue.
    #[cfg(test)]
    Probe(&'static std::sync::atomic::AtomicU32),
    /// Opens a push stream, or refuses to.
    Push,
    /// Accepts a pass, answers an early ticket, or asks the store.
    Room,
}

impl Stage {
    /// Returns the stages of a request in the order in which they run. The order depends on the
    /// request's token.
    ///
    /// The order also determines when a request is charged. No request is charged more than once:
    ///
    /// - **A ticket: the room first.** The limits protect the application, so a waiting visitor is
    ///   charged when the room admits it. Otherwise the check-ins of a waiting visitor would use up
    ///   the quota of its address.
    /// - **No token: the limits first.** With this order, a flood of newcomers is refused without a
    ///   call to the room's store.
    /// - **A pass: the limits first.** The room accepts a pass without asking the store, so this
    ///   order costs nothing, and the pass of a refused request need not be renewed.
    /// - **A preflight** skips only the room.
    ///
    /// The gates come last. A permit is held from the moment it is granted, so only a request that
    /// no other stage can stop may take a permit.
    pub(super) fn order(visitor: &Visitor) -> &'static [Self] {
        match visitor {
            Visitor::Preflight => &[Self::Limits, Self::Gates],
            Visitor::Proven(Opened::Ticket(_)) => &[Self::Room, Self::Limits, Self::Gates],
            Visitor::Proven(Opened::Pass(_)) => &[Self::Limits, Self::Room, Self::Gates],
            Visitor::Proven(Opened::Lapsed(_))
            | Visitor::Unknown
            | Visitor::Inside(_)
            | Visitor::Outside(_) => &[Self::Limits, Self::Room, Self::Gates],
        }
    }
}

/// A wait that interrupts a request.
///
/// # Cancel safety
///
/// Dropping a `Pending` removes the request from the queue in which it waits. A store that has been
/// asked may or may not have made its decision.
pub(crate) enum Pending {
    /// A wait for a reply from the rate limit store that the nodes share.
    Charge(Box<PendingCharge>),
    /// A wait until the room's store has been told that the visitor leaves, followed by the answer.
    Leave(BoxFuture<Response<Bytes>>),
    /// A wait for a permit from a gate.
    Permit(Box<Waiting>),
    /// A wait for the request's turn in a leaky queue.
    Turn(Box<Turn>),
    /// A wait for a verdict from the room's store.
    Verdict(BoxFuture<Result<Verdict, StoreError>>),
}

/// The result of a wait that has ended.
pub(crate) enum Resumed {
    Charged(StoreReply),
    Decided(Result<Verdict, StoreError>),
    Left(Response<Bytes>),
    Turn,
    Waited(Waited),
}

impl Pending {
    /// Polls the wait. At a gate, polling also reads the request's `body`, up to a bound, to detect
    /// that the client has disconnected.
    ///
    /// # Panics
    ///
    /// Panics if the wait is polled again after it has returned `Ready`.
    pub(crate) fn poll<B: 'static>(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<Resumed> {
        Poll::Ready(match self {
            Self::Charge(charge) => Resumed::Charged(ready!(charge.poll(cx))),
            Self::Leave(left) => Resumed::Left(ready!(left.as_mut().poll(cx))),
            Self::Permit(waiting) => Resumed::Waited(ready!(waiting.poll(body, cx))),
            Self::Turn(turn) => {
                ready!(Pin::new(&mut **turn).poll(cx));
                Resumed::Turn
            }
            Self::Verdict(verdict) => Resumed::Decided(ready!(verdict.as_mut().poll(cx))),
        })
    }

    /// Returns whether the decision for the request depends on the result of the wait. If so, even
    /// shadow mode has to wait.
    pub(super) const fn is_question(&self) -> bool {
        matches!(self, Self::Charge(_) | Self::Leave(_) | Self::Verdict(_))
    }

    /// Ends a delay immediately, in shadow mode. A request that waits at a gate leaves the queue,
    /// and this is reported. A turn in a leaky queue counts as used.
    pub(super) fn skip(self) {
        match self {
            Self::Permit(waiting) => waiting.skip(),
            Self::Turn(turn) => turn.skip(),
            Self::Charge(_) | Self::Leave(_) | Self::Verdict(_) => {}
        }
    }
}
