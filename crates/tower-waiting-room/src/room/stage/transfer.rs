//! Links with which a waiting visitor continues on another device.
//!
//! A script of the waiting page sends a POST to a path, and gets a sealed copy of the visitor's
//! ticket, for a link. On the other device, a script sends the copy back to the same path in a header,
//! and gets the ticket. Both devices then hold the place of one visitor, as two copies of a cookie
//! would: there is one place, and one slot when it is the visitor's turn.
//!
//! The copy is a token of its own kind. It is no ticket, so it has no effect in a cookie, and it
//! expires when the place would lapse if no visitor returned to it. The ticket is not due earlier than
//! the original, so a link gives no way to call the store more often.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::json;
use waiting_room_core::{Ticket, Timestamp};

use super::RoomStage;
use crate::{
    request::RequestHead,
    room::OTHER_PERSON,
    token::{OpenError, TokenSource},
};

/// The header in which the script of the other device sends the token of a link.
pub(crate) const TRANSFER_HEADER: HeaderName = HeaderName::from_static("waiting-room-transfer");

impl RoomStage {
    /// Returns whether a request asks for a link, or comes with one.
    #[inline]
    pub(crate) fn is_transfer(&self, head: &RequestHead<'_>) -> bool {
        self.transfer_path.as_ref().is_some_and(|path| path.is_asked(head))
    }

    /// Returns the ticket of a link, or `None` if the request comes with no valid one, or with that
    /// of another person.
    pub(crate) fn linked(&self, head: &RequestHead<'_>, now: Timestamp) -> Option<Ticket> {
        let token = head.headers().get(TRANSFER_HEADER)?;
        let rejected = match self.tokens.open_transfer(token.as_bytes(), now) {
            Err(error) => error.as_str(),
            Ok(ticket) if self.store.rules().timing().has_lapsed(&ticket, now) => {
                OpenError::Expired.as_str()
            }
            Ok(ticket) if self.is_ticket_of_another(&ticket, head) => OTHER_PERSON,
            Ok(ticket) => return Some(ticket),
        };
        self.telemetry.rejected(1, rejected);
        None
    }

    /// Answers the device that asks for a link to the place of this ticket, or returns `None` if it has
    /// no place.
    ///
    /// A first ticket is no place yet, and a lapsed one is none any longer. No link is made of a ticket
    /// that a node has reissued in an outage, because the link would hide that.
    pub(crate) fn link(&self, ticket: &Ticket, now: Timestamp) -> Option<Response<Bytes>> {
        let rules = self.store.rules();
        if !ticket.placed || ticket.is_reissued() || rules.timing().has_lapsed(ticket, now) {
            return None;
        }
        let until = ticket.last_check_in + rules.place_retention;
        let answer = json!({
            "transfer": self.tokens.seal_transfer(ticket).as_str(),
            "validForSeconds": until.since(now).as_secs(),
        });
        let mut response = Response::new(Bytes::from(answer.to_string()));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        Some(response)
    }

    /// Gives the ticket of a link to the device that has sent it, or nothing to a device that is
    /// inside.
    pub(crate) fn take_over(
        &self,
        ticket: Option<&Ticket>,
        source: TokenSource,
    ) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        if let Some(ticket) = ticket {
            self.attach(response.headers_mut(), source, self.ticket_token(ticket));
        }
        response
    }
}
