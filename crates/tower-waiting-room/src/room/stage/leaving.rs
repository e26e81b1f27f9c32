//! Requests with which visitors leave: a script of the waiting page or of the application sends a
//! POST to a path, for example with `navigator.sendBeacon`.
//!
//! A visitor that leaves gives up its session or its place, which would otherwise be kept for as long
//! as the rules say. The answer waits until the store has been told, so that the slot is free for the
//! visitors of all nodes. If the client disconnects or the store does not answer, the end is delivered
//! with the next call of this node, like every end that no response waits for (`ends.rs`).

use std::future::ready;

use bytes::Bytes;
use http::{Response, StatusCode};
use waiting_room_core::Timestamp;

use super::RoomStage;
use crate::{
    request::RequestHead,
    room::{BoxFuture, Visitor},
    token::{Identities, Opened, TokenSource},
};

impl RoomStage {
    /// Returns whether a request asks to leave.
    #[inline]
    pub(crate) fn is_leave(&self, head: &RequestHead<'_>) -> bool {
        self.leave_path.as_ref().is_some_and(|path| path.is_asked(head))
    }

    /// Gives up the session or the place of a visitor. Returns the answer, which deletes the token,
    /// once the store has been told.
    ///
    /// A first ticket has nothing to give up. A ticket of a person neither: the person may be active
    /// on another device, and the end of a visitor ends its session too.
    ///
    /// # Cancel safety
    ///
    /// The visitor has left this node when the method returns. If the future is dropped, or the store
    /// does not answer, a later request tells the store.
    pub(crate) fn give_up(
        &self,
        visitor: &Visitor,
        source: TokenSource,
        now: Timestamp,
    ) -> BoxFuture<Response<Bytes>> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let left = match visitor {
            Visitor::Proven(Opened::Ticket(ticket)) => {
                let gives_up = ticket.placed && !Identities::is_person(ticket.id);
                if gives_up {
                    // The visitor may have been admitted since, and the store ends its session.
                    let until = now + self.store.rules().timing().longest_pass_lifetime();
                    self.sessions.end_by_ticket(ticket.id, now, until);
                }
                gives_up.then_some(ticket.id)
            }
            Visitor::Proven(Opened::Lapsed(pass) | Opened::Pass(pass)) => {
                // The first request that ended the session has told the store, or put the end on
                // the list.
                let was_ended = self.sessions.is_ended(pass);
                self.sessions.end_by_application(pass);
                (!was_ended).then_some(pass.id)
            }
            Visitor::Inside(_) | Visitor::Outside(_) | Visitor::Preflight | Visitor::Unknown => {
                return Box::pin(ready(response));
            }
        };
        self.transport.detach(response.headers_mut(), source);
        let told = left.map(|id| self.leave(id));
        Box::pin(async move {
            if let Some(told) = told {
                told.await;
            }
            response
        })
    }
}
