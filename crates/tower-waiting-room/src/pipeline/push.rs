//! Push: a request for a stream of events, and the answer to it.
//!
//! ```text
//!  GET path ─┬─ a ticket ─► pace ─► bounds ─► check in ─┬─ wait ────► 200, the stream opens
//!            │                                          ├─ admitted ► 204 and the pass
//!            │                                          └─ refused ─► as for any request
//!            ├─ a pass ───────────────────────────────────────────► 204
//!            └─ neither ──────────────────────────────────────────► 403
//! ```
//!
//! An `EventSource` that gets any status other than 200 closes, and does not connect again. The
//! page then polls.
//!
//! The request that opens a stream is a check-in, which takes a slot if it is the visitor's turn.
//! Only an open stream announces a turn without taking the slot. A client that opens one stream
//! after another and never enters therefore keeps a slot reserved for no longer than a client that
//! polls.
//!
//! A request for a stream is neither charged against the limits nor passed on to the gates, because
//! it does not reach the application. Such a request costs as much as a poll, and the pace limits
//! on tickets bound both. In shadow mode there is no push, because no visitor waits.

use std::{
    net::IpAddr,
    ops::ControlFlow::{self, Break},
    sync::Arc,
    time::Duration,
};

use http::{HeaderValue, Method, StatusCode, header::ACCEPT};
use memchr::memmem;
use tokio::time::Instant;
use waiting_room_core::{
    Reason, RoomRules, StoreError, Ticket, Timestamp, Verdict,
    error::StoreErrorKind,
    room::{QueueingMethod, RoomMode},
};

use super::{
    journey::{Journey, Opening, Pending},
    order::{Pipeline, Stop},
    reply::{EVENT_STREAM, Reply},
};
use crate::{
    request::RequestHead,
    room::{NotOpened, Opened, RoomStage, StreamPlace, Streams, Visitor},
    telemetry::StreamEnd,
};

impl Pipeline {
    /// The push stage: opens a stream for a waiting visitor, or refuses to.
    pub(super) fn open_stream(
        &self,
        room: &RoomStage,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        let now = journey.times(&self.clock).now;
        let Some(streams) = &room.push else { return ControlFlow::Continue(()) };
        let stop = |reply| Break(Stop::Reply(reply));
        let invalid = Reason::RefusedPushInvalid;
        if head.method() != Method::GET || !accepts_events(head) {
            return stop(Reply::no_stream(invalid, StatusCode::NOT_ACCEPTABLE, None));
        }
        let rules = room.rules();
        let ticket = match &journey.visitor {
            Visitor::Proven(Opened::Ticket(ticket)) => **ticket,
            Visitor::Proven(Opened::Pass(_)) if journey.is_accepted => {
                return stop(Reply::nothing_to_push(Reason::AdmittedPass));
            }
            Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown => {
                return stop(Reply::no_stream(invalid, StatusCode::FORBIDDEN, None));
            }
        };
        if rules.mode == RoomMode::Suspended {
            return stop(Reply::nothing_to_push(Reason::Bypass("suspended".into())));
        }
        if let Err(pause) = room.pace.charge(&ticket, &self.callers.of(*head, None), now) {
            return stop(Reply::too_often(pause));
        }
        let order = order(&rules, &ticket, now);
        match open(streams, &ticket, order, head.network_in_line()) {
            Ok(place) => {
                journey.opening = Some(Box::new(Opening {
                    place,
                    language: is_page(head).then(|| self.responder.language(head.headers())),
                    told: None,
                }));
                // A place is created when the first ticket is due, not before.
                let after = if ticket.placed { Duration::ZERO } else { ticket.retry_after(now) };
                Break(Stop::Wait(Pending::Verdict(room.check_in(ticket, after))))
            }
            Err((reason, status)) => {
                // The client polls instead.
                stop(Reply::no_stream(reason, status, Some(ticket.retry_after(now))))
            }
        }
    }

    /// Applies the store's verdict to a request for a stream. Returns `None` for any verdict other
    /// than waiting or admission. Such a verdict has the same effect as on a poll.
    pub(super) fn stream_decided(
        &self,
        room: &RoomStage,
        journey: &mut Journey,
        verdict: &Result<Verdict, StoreError>,
    ) -> Option<Reply> {
        let mut opening = journey.opening.take()?;
        let now = journey.times(&self.clock).now;
        match verdict {
            Ok(Verdict::Wait { ticket, reason }) => {
                let mut sealed = *ticket;
                // The client keeps this ticket while the stream is open, and the ticket must be due
                // when the stream announces the turn.
                if !sealed.is_reissued() {
                    sealed.next_check_in = sealed.next_check_in.min(sealed.last_check_in + AT_ONCE);
                }
                journey.token = Some(room.ticket_token(&sealed));
                journey.visitor = Visitor::Outside(Some(*ticket));
                opening.told = Some((*ticket, reason.clone()));
                journey.opening = Some(opening);
                Some(Reply::stream(reason.clone()))
            }
            Ok(Verdict::Admit { pass, reason }) => {
                journey.token = Some(room.admit(pass, now));
                journey.visitor = Visitor::Inside(*pass);
                opening.place.end = StreamEnd::Turn;
                Some(Reply::nothing_to_push(reason.clone()))
            }
            // The policy admits the visitor, but the path of streams never reaches the application.
            Err(error)
                if error.kind() != StoreErrorKind::Busy && room.admits_without_store(now) =>
            {
                opening.place.end = StreamEnd::Refused;
                Some(Reply::nothing_to_push(Reason::StoreUnavailable))
            }
            Ok(Verdict::Refuse { .. }) | Err(_) => {
                opening.place.end = StreamEnd::Refused;
                None
            }
        }
    }
}

/// Returns the order of a visitor in the line, as far as its ticket reveals the order.
///
/// The order decides only which streams check first. If the room orders its visitors in a different
/// way, visitors learn of their turn when the store asks them to check in.
pub(super) fn order(rules: &RoomRules, ticket: &Ticket, now: Timestamp) -> u64 {
    match rules.queueing_method {
        // The room draws the lots of each minute in the same way.
        QueueingMethod::Random => ticket.id.draw(now.as_secs() / 60),
        // Places in a draw are smaller than any time of arrival, so entrants come first.
        QueueingMethod::Fifo | QueueingMethod::Passthrough | QueueingMethod::Reject => {
            let place = ticket.entrant.and_then(|entrant| entrant.place);
            place.map_or(ticket.arrival().as_nanos(), u64::from)
        }
    }
}

/// Opens a stream, or returns the reason and the status of the refusal.
fn open(
    streams: &Arc<Streams>,
    ticket: &Ticket,
    order: u64,
    network: Option<IpAddr>,
) -> Result<StreamPlace, (Reason, StatusCode)> {
    streams.open(ticket, order, network, Instant::now()).map_err(|no| match no {
        NotOpened::Ended => (Reason::RefusedPushEnded, StatusCode::SERVICE_UNAVAILABLE),
        NotOpened::Full => (Reason::RefusedPushFull, StatusCode::SERVICE_UNAVAILABLE),
        NotOpened::NetworkFull => (Reason::RefusedPushNetworkFull, StatusCode::TOO_MANY_REQUESTS),
    })
}

/// Returns whether the client accepts a stream of events. Other types in the same header do not
/// matter, because the path serves nothing else.
fn accepts_events(head: &RequestHead<'_>) -> bool {
    let is_events = |value: &HeaderValue| {
        memmem::find(&value.as_bytes().to_ascii_lowercase(), EVENT_STREAM.as_bytes()).is_some()
    };
    head.headers().get_all(ACCEPT).iter().any(is_events)
}

/// Returns whether the script of the waiting page asks for the stream. The script cannot set headers
/// on the request of an `EventSource`, so it uses the query.
fn is_page(head: &RequestHead<'_>) -> bool {
    head.uri().query() == Some("page")
}

/// The time after which the ticket of an open stream is due. If this time were zero, the ticket
/// would look as if a node had reissued it in an outage. The pace limits on tickets bound how often
/// the ticket is used.
const AT_ONCE: Duration = Duration::from_nanos(1);

#[cfg(test)]
mod tests {
    use waiting_room_core::{
        VisitorId,
        room::{HeadStart, event::Entrant},
    };

    use super::*;

    #[test]
    fn streams_check_in_the_order_of_the_line() {
        let at = |secs: u64| Timestamp::from_secs(10_000 + secs);
        let rules = RoomRules::new("shop", 1);
        let ticket = |came| Ticket::new(VisitorId::new(1), at(came), at(came), at(came + 2));
        let of = |ticket: &Ticket| order(&rules, ticket, at(60));
        let first = ticket(0);
        let second = ticket(1);
        let mut member = ticket(30);
        assert!(of(&first) < of(&second) && of(&second) < of(&member));
        member.head_start = HeadStart::new(Duration::from_secs(40));
        assert!(of(&member) < of(&first));
        // A place from a draw comes before every arrival, even one with a head start.
        let drawn = |place| {
            let mut entrant = Entrant::new(1, 1);
            entrant.place = Some(place);
            let mut ticket = ticket(50);
            ticket.entrant = Some(entrant);
            ticket
        };
        assert!(of(&drawn(1)) < of(&drawn(2)) && of(&drawn(2)) < of(&member));
    }
}
