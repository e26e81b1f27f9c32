//! The effect of the room's verdict on a request.
//!
//! | store | visitor | request |
//! |---|---|---|
//! | admits | gets a pass | continues; a poll of the waiting page is answered instead |
//! | makes the visitor wait | gets a ticket | is answered with the waiting page |
//! | refuses | keeps its ticket, if it has one | is answered with a refusal |
//! | is busy | keeps its token, or gets a first ticket | is asked to come back at a random time |
//! | fails | keeps its order of arrival | continues or is answered, depending on the policy |
//! | is busy or fails | has a valid pass | continues |
//! | is busy or fails | has a pass from another site | as without a pass, but keeps the pass |

use std::ops::ControlFlow::{self, Break, Continue};

use waiting_room_core::{Pass, Reason, StoreError, Verdict, error::StoreErrorKind};

use super::{
    journey::{Journey, RequestTimes},
    order::{Pipeline, Stop},
    reply::Reply,
};
use crate::{
    request::RequestHead,
    room::{Opened, RoomStage, Visitor},
};

impl Pipeline {
    /// Applies the store's verdict, or the effect of a store failure, to a request. Returns `Break`
    /// with the reply if the request must not continue.
    pub(super) fn decided(
        &self,
        room: &RoomStage,
        head: &RequestHead<'_>,
        journey: &mut Journey,
        mut verdict: Result<Verdict, StoreError>,
    ) -> ControlFlow<Stop> {
        let now = journey.times(&self.clock).now;
        if verdict.is_err()
            && let Some(pass) = Self::valid_pass(room, journey)
        {
            return Self::undecided(pass, head, journey);
        }
        if let Ok(verdict) = &mut verdict {
            room.observe(&journey.visitor, verdict);
            room.grant(head, verdict, now);
        }
        if let Some(reply) = self.stream_decided(room, journey, &verdict) {
            return Break(Stop::Reply(reply));
        }
        let reply = match verdict {
            Ok(Verdict::Admit { pass, reason }) => {
                if has_new_id(&journey.visitor, &pass) {
                    journey.undelivered = room.undelivered(pass.id);
                }
                // The pass is attached to the response even if a later stage stops the request,
                // because the slot is already taken.
                journey.token = Some(room.admit(&pass, now));
                journey.visitor = Visitor::Inside(pass);
                Self::admitted(room, head, &reason)?;
                journey.admitted = reason;
                return Continue(());
            }
            Ok(Verdict::Wait { ticket, reason }) => {
                journey.token = Some(room.ticket_token(&ticket));
                journey.visitor = Visitor::Outside(Some(ticket));
                Reply::queued(reason, &ticket, now)
            }
            Ok(Verdict::Refuse { ticket, reason, retry_after }) => {
                self.suspect(head, &reason);
                journey.token = ticket.as_ref().map(|ticket| room.ticket_token(ticket));
                journey.visitor = Visitor::Outside(ticket);
                Reply::turned_away(reason, retry_after)
            }
            // A busy store still answers other visitors, so this arm precedes the policy for an
            // outage.
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                self.overloaded(room, head, journey)
            }
            // The visitor gets no pass, because the store has not counted the visitor. Once the
            // store is back, the visitor's token proves only the visitor's order of arrival.
            Err(_) if room.admits_without_store(now) => {
                self.keep_order(room, journey);
                journey.admitted = Reason::StoreUnavailable;
                return Continue(());
            }
            Err(_) => {
                self.keep_order(room, journey);
                Reply::room_unavailable(&room.rules())
            }
        };
        Break(Stop::Reply(reply))
    }

    /// Reports a probable misconfiguration if a visitor is refused because of its network.
    ///
    /// The network's share may be exhausted because a proxy is missing from the
    /// configuration: all clients behind the proxy then appear to have the same address. The refused
    /// request is therefore checked for signs of such a proxy.
    fn suspect(&self, head: &RequestHead<'_>, reason: &Reason) {
        if *reason == Reason::RefusedNetworkFull
            && let Some(suspected) = head.suspect()
        {
            self.telemetry.misconfigured(suspected);
        }
    }

    /// Returns the pass of a visitor whose session may still be active, if the pass is valid.
    fn valid_pass(room: &RoomStage, journey: &Journey) -> Option<Pass> {
        match &journey.visitor {
            Visitor::Proven(Opened::Pass(pass)) if room.may_return(pass) => Some(**pass),
            Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown => None,
        }
    }

    /// Continues a request with a valid pass on which the store could not decide. The store was asked
    /// only because the session may lapse soon, and a valid pass suffices even without the store.
    fn undecided(pass: Pass, head: &RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        journey.visitor = Visitor::Inside(pass);
        if head.is_poll() {
            return Break(Stop::Reply(Reply::admitted_poll(Reason::AdmittedPass)));
        }
        journey.admitted = Reason::AdmittedPass;
        Continue(())
    }

    /// Preserves the order of arrival of a visitor in the line when the store could not decide:
    /// reissues the visitor's ticket with this check-in recorded in it.
    ///
    /// Otherwise an outage would cost visitors their places even if they came back on time, because
    /// their check-ins would never reach the store. A lapsed ticket is not revived, and a ticket is
    /// not reissued if the store's last answer for it is too old ([`may_reissue`]). A ticket with a
    /// timestamp in the future is not reissued either, because the store would then have to trust
    /// its order of arrival.
    ///
    /// [`may_reissue`]: waiting_room_core::room::Timing::may_reissue
    fn keep_order(&self, room: &RoomStage, journey: &mut Journey) {
        let Visitor::Proven(Opened::Ticket(shown)) = &journey.visitor else { return };
        // The ticket is checked as of the request's arrival, so that the time spent waiting for the
        // store does not count against the visitor.
        let rules = room.rules();
        let RequestTimes { arrived, now } = journey.times(&self.clock);
        if rules.timing().has_lapsed(shown, arrived) {
            journey.visitor = Visitor::Outside(None);
        } else if rules.timing().may_reissue(shown, arrived) && !shown.is_ahead() {
            let ticket = shown.reissued(now);
            journey.token = Some(room.ticket_token(&ticket));
            journey.visitor = Visitor::Outside(Some(ticket));
        }
    }

    /// Answers a visitor for whom the store cannot reach a verdict in time. A newcomer, or a
    /// visitor whose ticket has lapsed, gets a first ticket, which records the time of arrival. A
    /// visitor in the line keeps its order of arrival. A visitor with an expired pass keeps the
    /// pass, because the store may still let the session continue. A visitor with a pass from
    /// another site keeps its pass, too.
    fn overloaded(&self, room: &RoomStage, head: &RequestHead<'_>, journey: &mut Journey) -> Reply {
        let now = journey.times(&self.clock).now;
        // The check-in of a visitor in the line counts even though the store has not decided.
        self.keep_order(room, journey);
        let kept = match &journey.visitor {
            Visitor::Outside(Some(ticket)) => Some(ticket.id),
            Visitor::Proven(Opened::Ticket(ticket)) => Some(ticket.id),
            Visitor::Proven(Opened::Lapsed(pass)) => Some(pass.id),
            Visitor::Proven(Opened::Pass(pass)) if room.may_move(pass, now) => Some(pass.id),
            Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown => None,
        };
        // The random interval also depends on the time of the request. Otherwise a visitor that is
        // sent away twice would get the same interval both times, and come back with the same
        // crowd.
        if let Some(id) = kept {
            return Reply::room_overloaded(room.overload_interval(id.draw(now.as_nanos())));
        }
        let ticket = room.first_ticket(head, now, |draw| room.overload_interval(draw));
        journey.token = Some(room.ticket_token(&ticket));
        journey.visitor = Visitor::Outside(Some(ticket));
        Reply::room_overloaded(ticket.retry_after(now))
    }
}

/// Returns whether a visitor was admitted with an id that was generated for its request.
///
/// If the pass of such a visitor cannot be delivered, the session is ended. The pass of any other
/// visitor may have been delivered in response to a concurrent request.
fn has_new_id(visitor: &Visitor, pass: &Pass) -> bool {
    match visitor {
        Visitor::Unknown => true,
        Visitor::Proven(Opened::Lapsed(old) | Opened::Pass(old)) => old.id != pass.id,
        Visitor::Inside(_) | Visitor::Outside(_) | Visitor::Preflight | Visitor::Proven(_) => false,
    }
}
