//! From the room's verdict to the answer of the request that has waited for it.

use std::ops::ControlFlow::{self, Break, Continue};

use waiting_room_core::{Reason, Store, StoreError, StoreErrorKind, Verdict};

use super::{
    order::{Journey, Pipeline, Stop},
    reply::Reply,
};
use crate::{
    request::{POLL_HEADER, RequestHead},
    room::{RoomStage, Visitor},
    token::Opened,
};

impl<St: Store> Pipeline<St> {
    /// Takes a request further about which the store has decided, or could not.
    pub(super) fn decided(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
        verdict: Result<Verdict, StoreError>,
    ) -> ControlFlow<Stop> {
        let Some(room) = &self.room else { return Continue(()) };
        let now = journey.now;
        let reply = match verdict {
            Ok(Verdict::Admit { pass, reason }) => {
                if matches!(journey.visitor, Visitor::Unknown) {
                    journey.undelivered = Some(Box::new(room.undelivered(pass.id)));
                }
                journey.token = Some(room.admit(&pass, now));
                journey.visitor = Visitor::Inside(pass);
                if head.headers().contains_key(POLL_HEADER) {
                    Reply::admitted_poll(reason)
                } else {
                    journey.admitted = reason;
                    return Continue(());
                }
            }
            Ok(Verdict::Wait { ticket, reason }) => {
                journey.token = Some(room.ticket_token(&ticket));
                journey.visitor = Visitor::Outside(Some(ticket));
                Reply::queued(reason, &ticket, now)
            }
            Ok(Verdict::Refuse { ticket, reason, retry_after }) => {
                if reason == Reason::RefusedNetworkFull
                    && let Some(suspected) = head.suspect()
                {
                    self.telemetry.misconfigured(suspected);
                }
                journey.token = ticket.as_ref().map(|ticket| room.ticket_token(ticket));
                journey.visitor = Visitor::Outside(ticket);
                Reply::turned_away(reason, retry_after)
            }
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                Self::overloaded(room, head, journey)
            }
            Err(_) if room.admits_without_store() => {
                journey.admitted = Reason::StoreUnavailable;
                return Continue(());
            }
            Err(_) => {
                Self::keep_order(room, journey);
                Reply::room_unavailable(&room.rules())
            }
        };
        Break(Stop::Reply(reply))
    }

    /// Gives a visitor in line, about whom the store could not decide, a ticket that tells of this
    /// check-in: for as long as it comes back as told, it keeps its order of arrival.
    fn keep_order(room: &RoomStage<St>, journey: &mut Journey) {
        if let Visitor::Proven(Opened::Ticket(shown)) = &journey.visitor
            && !room.rules().has_lapsed(shown, journey.now)
        {
            let mut ticket = **shown;
            ticket.last_check_in = journey.now.max(ticket.last_check_in);
            journey.token = Some(room.ticket_token(&ticket));
            journey.visitor = Visitor::Outside(Some(ticket));
        }
    }

    /// What a visitor is told whom this node has no time to ask the store about: a newcomer gets a
    /// first ticket; a visitor in line, or with a session that may go on, keeps what it has.
    fn overloaded(room: &RoomStage<St>, head: RequestHead<'_>, journey: &mut Journey) -> Reply {
        let now = journey.now;
        Self::keep_order(room, journey);
        let kept = match &journey.visitor {
            Visitor::Outside(Some(ticket)) => Some(ticket.id),
            Visitor::Proven(Opened::Ticket(ticket)) => Some(ticket.id),
            Visitor::Proven(Opened::Lapsed(pass)) => Some(pass.id),
            _ => None,
        };
        if let Some(id) = kept {
            return Reply::room_overloaded(room.overload_interval(id.draw(now.as_nanos())));
        }
        let ticket = room.first_ticket(&head, now);
        journey.token = Some(room.ticket_token(&ticket));
        journey.visitor = Visitor::Outside(Some(ticket));
        Reply::room_overloaded(ticket.retry_after(now))
    }
}
