//! The requests that scripts send to paths that the layer answers itself: to leave, and to continue
//! on another device.
//!
//! ```text
//!  POST leave_path ───── a ticket ─► pace ─┬─► the store is told ─► 204
//!                   └─── a pass, or none ──┘
//!  POST transfer_path ─ pace ─┬─ no link ─┬─ a ticket with a place ─► 200 and the token of a link
//!                             │           └─ anything else ────────► 403
//!                             └─ a link ──┬─ valid ─► pace of the link ─► 204 and its ticket,
//!                             │           │                                if it is ahead of the own
//!                                         └─ not valid ──────────────► 403
//! ```
//!
//! A transfer needs no call to the store: a link contains a copy of the ticket, which is due at the
//! same time as the original.

use std::ops::ControlFlow::{self, Break, Continue};

use waiting_room_core::Reason;

use super::{
    journey::{Journey, Pending},
    order::{Pipeline, Stop},
    push::order,
    reply::Reply,
};
use crate::{
    request::RequestHead,
    room::{Opened, RoomStage, TRANSFER_HEADER, Visitor},
};

impl Pipeline {
    /// Answers a request to one of the paths, or returns `None` for any other request.
    #[inline]
    pub(super) fn posted(
        &self,
        room: &RoomStage,
        head: &RequestHead<'_>,
        journey: &Journey,
    ) -> Option<Stop> {
        if room.is_leave(head) {
            Some(self.leave(room, head, journey))
        } else if room.is_transfer(head) {
            Some(Stop::Reply(self.transfer(room, head, journey)))
        } else {
            None
        }
    }

    /// Answers a request that an admitted visitor does not send to the application: a poll, with
    /// which the script of the waiting page asks whether it may reload the page, or a link.
    #[inline]
    pub(super) fn admitted(
        room: &RoomStage,
        head: &RequestHead<'_>,
        reason: &Reason,
    ) -> ControlFlow<Stop> {
        if head.is_poll() {
            return Break(Stop::Reply(Reply::admitted_poll(reason.clone())));
        }
        Self::without_link(room, head, reason)
    }

    /// Redirects a visitor who has opened a link, but need not wait, to the page without the link.
    #[inline]
    pub(super) fn without_link(
        room: &RoomStage,
        head: &RequestHead<'_>,
        reason: &Reason,
    ) -> ControlFlow<Stop> {
        match room.without_link(head) {
            Some(location) => Break(Stop::Reply(Reply::without_link(reason.clone(), location))),
            None => Continue(()),
        }
    }

    /// Answers a visitor who leaves.
    fn leave(&self, room: &RoomStage, head: &RequestHead<'_>, journey: &Journey) -> Stop {
        let visitor = &journey.visitor;
        let now = journey.times(&self.clock).now;
        if let Visitor::Proven(Opened::Ticket(ticket)) = visitor
            && let Err(pause) = room.pace.charge_post(ticket, &self.callers.of(*head, None), now)
        {
            return Stop::Reply(Reply::too_often(pause));
        }
        Stop::Wait(Pending::Leave(room.give_up(visitor, journey.source, now)))
    }

    /// Answers either device of a visitor who continues on another device.
    ///
    /// First, the request is charged against the pace limit of its ticket, whatever the answer is,
    /// because the rate limits do not apply to tickets. They apply to a client without a ticket.
    fn transfer(&self, room: &RoomStage, head: &RequestHead<'_>, journey: &Journey) -> Reply {
        let now = journey.times(&self.clock).now;
        let visitor = &journey.visitor;
        let charge = |ticket| room.pace.charge_post(ticket, &self.callers.of(*head, None), now);
        let own = match visitor {
            Visitor::Proven(Opened::Ticket(ticket)) => Some(**ticket),
            Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown => None,
        };
        if let Some(Err(pause)) = own.as_ref().map(charge) {
            return Reply::too_often(pause);
        }
        if !head.headers().contains_key(TRANSFER_HEADER) {
            let link = own.and_then(|ticket| room.link(&ticket, now));
            return link.map_or_else(Reply::no_transfer, Reply::transferred);
        }
        let Some(ticket) = room.linked(head, now) else { return Reply::no_transfer() };
        if own.is_none_or(|own| own.id != ticket.id)
            && let Err(pause) = charge(&ticket)
        {
            return Reply::too_often(pause);
        }
        let rules = room.rules();
        // A link never replaces a better place.
        let is_ahead = own.is_some_and(|own| {
            !rules.timing().has_lapsed(&own, now)
                && order(&rules, &own, now) < order(&rules, &ticket, now)
        });
        // A visitor who is already inside, for example in another tab, does not go back to the
        // line.
        let is_inside = matches!(visitor, Visitor::Proven(Opened::Pass(pass))
            if journey.is_accepted || room.may_move(pass, now));
        let ticket = (!is_inside && !is_ahead).then_some(&ticket);
        Reply::transferred(room.take_over(ticket, journey.source))
    }
}
