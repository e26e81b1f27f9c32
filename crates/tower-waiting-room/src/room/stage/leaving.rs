//! What becomes of a visitor that leaves.

use bytes::Bytes;
use http::{Response, StatusCode};
use waiting_room_core::{Store, Timestamp};

use super::RoomStage;
use crate::{
    request::RequestHead,
    room::Visitor,
    token::{Identities, Opened, TokenSource},
};

impl<St: Store> RoomStage<St> {
    /// Returns whether a request asks to leave.
    pub(crate) fn is_leave(&self, head: &RequestHead<'_>) -> bool {
        self.leave_path.as_ref().is_some_and(|path| path.is_asked(head))
    }

    /// Gives up the session or the place of a visitor. Returns the answer, which deletes the token.
    ///
    /// A first ticket has nothing to give up. A ticket of a person neither: the person may be active
    /// on another device, and the end of a visitor ends its session too.
    pub(crate) fn give_up(
        &self,
        visitor: &Visitor,
        source: TokenSource,
        now: Timestamp,
    ) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        match visitor {
            Visitor::Proven(Opened::Ticket(ticket)) => {
                if ticket.placed && !Identities::is_person(ticket.id) {
                    // The visitor may have been admitted since, and the store ends its session.
                    let until = now + self.store.rules().longest_pass_lifetime();
                    self.sessions.end_by_ticket(ticket.id, now, until);
                    self.sessions.ends.owe(ticket.id);
                }
            }
            Visitor::Proven(Opened::Lapsed(pass) | Opened::Pass(pass)) => {
                self.sessions.end_by_application(pass);
                self.sessions.ends.owe(pass.id);
            }
            _ => return response,
        }
        self.transport.detach(response.headers_mut(), source);
        response
    }
}
