//! The state of a request on its way through the stages.

use std::cell::Cell;

use waiting_room_core::{Reason, Ticket, Timestamp, time::Clock};

use super::stage::Stage;
use crate::{
    ambient::StageClock,
    gate::Permits,
    rate::RateReport,
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
    /// The answer of the store to the first question, once the store has answered.
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

    /// Returns whether the journey of a request that the layer has answered is over: the answer has
    /// its body, and no pass is being renewed.
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
