//! The requests that scripts send to the paths of the layer's own: to leave, and to continue on another
//! device.
//!
//! ```text
//!  POST leave_path ───── a ticket ─► pace ─┬─► the store is told ─► 204
//!                   └─── a pass, or none ──┘
//!  POST transfer_path ─┬─ no link ─┬─ a ticket with a place ─► pace ─► 200 and the token of a link
//!                      │           └─ anything else ────────────────► 403
//!                      └─ a link ──┬─ valid ─────────────────► pace ─► 204 and the ticket
//!                                  └─ not valid ────────────────────► 403
//! ```
//!
//! No store is asked about a transfer: the next request with the ticket is a check-in like any other.

use bytes::Bytes;
use waiting_room_core::Store;

use super::{
    journey::Journey,
    order::{Pipeline, Stop},
    pending::Pending,
    reply::Reply,
};
use crate::{
    request::RequestHead,
    room::{Opened, RoomStage, TRANSFER_HEADER, Visitor},
};

impl<St: Store> Pipeline<St> {
    /// Answers a request to one of the paths, or returns `None` for any other request.
    pub(super) fn posted(
        &self,
        room: &RoomStage<St>,
        head: RequestHead<'_>,
        journey: &Journey,
    ) -> Option<Stop> {
        if room.is_leave(&head) {
            Some(self.leave(room, head, journey))
        } else if room.is_transfer(&head) {
            Some(Stop::Reply(self.transfer(room, head, journey)))
        } else {
            None
        }
    }

    /// Answers a visitor who leaves.
    fn leave(&self, room: &RoomStage<St>, head: RequestHead<'_>, journey: &Journey) -> Stop {
        let (visitor, now) = (&journey.visitor, journey.now);
        if let Visitor::Proven(Opened::Ticket(ticket)) = visitor
            && let Err(pause) = room.pace.charge(ticket, &self.callers.of(head, None), now)
        {
            return Stop::Reply(Reply::too_often(pause));
        }
        Stop::Wait(Pending::Leave(room.give_up(visitor, journey.source, now)))
    }

    /// Answers a visitor who continues on another device, on either device.
    fn transfer(&self, room: &RoomStage<St>, head: RequestHead<'_>, journey: &Journey) -> Reply {
        let (now, has_link) = (journey.now, head.headers().contains_key(TRANSFER_HEADER));
        let ticket = match has_link {
            true => room.linked(&head, now),
            false => RoomStage::<St>::handed_on(&journey.visitor),
        };
        let Some(ticket) = ticket else {
            return Reply::no_transfer();
        };
        if let Err(pause) = room.pace.charge(&ticket, &self.callers.of(head, None), now) {
            return Reply::too_often(pause);
        }
        let answer = match has_link {
            true => room.take_over(&ticket, journey.source),
            false => room.link(&ticket, now),
        };
        Reply::transferred(answer.map(Bytes::from))
    }
}
