//! The effect of the room's verdict on the request that has waited for it.
//!
//! | store | visitor | request |
//! |---|---|---|
//! | admits | gets a pass | goes on; a poll of the waiting page is answered instead |
//! | makes it wait | gets a ticket | is answered with the waiting page |
//! | refuses | keeps its ticket, if it has one | is answered with a refusal |
//! | is busy | keeps its token, or gets a first ticket | is asked to come back, spread over time |
//! | fails | keeps its order of arrival | goes on or is answered, by the policy |

use std::ops::ControlFlow::{self, Break, Continue};

use waiting_room_core::{Reason, Store, StoreError, Verdict, error::StoreErrorKind};

use super::{
    order::{Journey, Pipeline, Stop},
    reply::Reply,
};
use crate::{
    request::{POLL_HEADER, RequestHead},
    room::{Opened, RoomStage, Visitor},
};

impl<St: Store> Pipeline<St> {
    /// Applies the verdict of the store, or its failure, to a request. Breaks with the reply if the
    /// request is not to go on.
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
                // Only a newcomer's session is ended if its pass is not delivered. The visitor of a
                // ticket or an expired pass may have been admitted by a parallel request as well,
                // whose response has delivered the pass.
                if matches!(journey.visitor, Visitor::Unknown) {
                    journey.undelivered = Some(Box::new(room.undelivered(pass.id)));
                }
                // Attached to the response even if a later stage stops the request: the slot is
                // taken.
                journey.token = Some(room.admit(&pass, now));
                journey.visitor = Visitor::Inside(pass);
                // The script of the waiting page gets the pass with this answer, and then loads the
                // page. A poll itself is not for the application.
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
                // A full network may be a proxy that is missing from the configuration, with all of
                // its clients behind one address. A refusal is a good moment to check for that.
                if reason == Reason::RefusedNetworkFull
                    && let Some(suspected) = head.suspect()
                {
                    self.telemetry.misconfigured(suspected);
                }
                journey.token = ticket.as_ref().map(|ticket| room.ticket_token(ticket));
                journey.visitor = Visitor::Outside(ticket);
                Reply::turned_away(reason, retry_after)
            }
            // Before the policy for a store that is away: a busy store answers other visitors.
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                Self::overloaded(room, head, journey)
            }
            // Without a pass: the store has not counted the visitor, who proves nothing but its order
            // of arrival later.
            Err(_) if room.admits_without_store() => {
                Self::keep_order(room, journey);
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

    /// Keeps the order of arrival of a visitor in line about whom the store could not decide: issues its
    /// ticket anew, with this check-in recorded in it.
    ///
    /// Otherwise an outage would cost visitors their places although they came back on time: their
    /// check-ins never reached the store. A ticket that has lapsed is not revived, and one that the store
    /// has not answered for too long stays what it is ([`may_reissue`]). A ticket stamped in the future
    /// is not trusted with an order that the store would then have to believe.
    ///
    /// [`may_reissue`]: waiting_room_core::RoomRules::may_reissue
    fn keep_order(room: &RoomStage<St>, journey: &mut Journey) {
        let Visitor::Proven(Opened::Ticket(shown)) = &journey.visitor else { return };
        // Judged at arrival: the wait for the store must not count against the visitor.
        let (rules, arrived) = (room.rules(), journey.arrived);
        if rules.has_lapsed(shown, arrived) {
            journey.visitor = Visitor::Outside(None);
        } else if rules.may_reissue(shown, arrived) && !shown.is_ahead() {
            let mut ticket = **shown;
            ticket.last_check_in = journey.now.max(ticket.last_check_in);
            journey.token = Some(room.ticket_token(&ticket));
            journey.visitor = Visitor::Outside(Some(ticket));
        }
    }

    /// Answers a visitor that this node cannot ask the store about in time. A newcomer gets a first
    /// ticket, which records its time of arrival, and so does a visitor whose ticket has lapsed. A
    /// visitor in line keeps its order, and one with an expired pass keeps the pass, because its
    /// session may go on.
    fn overloaded(room: &RoomStage<St>, head: RequestHead<'_>, journey: &mut Journey) -> Reply {
        let now = journey.now;
        // The check-in of a visitor in line counts although the store was not asked.
        Self::keep_order(room, journey);
        let kept = match &journey.visitor {
            Visitor::Outside(Some(ticket)) => Some(ticket.id),
            Visitor::Proven(Opened::Ticket(ticket)) => Some(ticket.id),
            Visitor::Proven(Opened::Lapsed(pass)) => Some(pass.id),
            _ => None,
        };
        // The time of the request is part of the draw. Otherwise a visitor that is sent away twice
        // would get the same interval again, and come back with the same crowd.
        if let Some(id) = kept {
            return Reply::room_overloaded(room.overload_interval(id.draw(now.as_nanos())));
        }
        let ticket = room.first_ticket(&head, now);
        journey.token = Some(room.ticket_token(&ticket));
        journey.visitor = Visitor::Outside(Some(ticket));
        Reply::room_overloaded(ticket.retry_after(now))
    }
}
