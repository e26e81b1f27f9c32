//! Requests with which visitors leave: a script of the waiting page or of the application sends a
//! POST to a path, for example with `navigator.sendBeacon`.
//!
//! A visitor that leaves gives up its session or its place, which would otherwise be kept for as
//! long as the rules say. The answer is not sent until the store has been told, so the slot is then
//! free for the visitors of all nodes. If the client disconnects or the store does not answer, the
//! end is delivered with this node's next call, like every end that no response waits for
//! (`ends.rs`).
//!
//! # Links
//!
//! With a link, a waiting visitor can continue on another device. A script of the waiting page
//! sends a POST to another path, and gets a sealed copy of the visitor's ticket for the link. On
//! the other device, a script sends the copy back to the same path in a header, and gets the
//! ticket. Both devices then hold the place of one visitor, like two copies of a cookie: there is
//! one place, and one slot when it is the visitor's turn.
//!
//! The token is in the fragment of the link, which browsers do not send. The link also has a mark at
//! the end of its query. A visitor who opens a link and need not wait is redirected to the page
//! without both, so that no script of the application finds the token in the address.
//!
//! The copy is a separate kind of token. It is not a ticket, so it has no effect in a cookie, and
//! it expires when the place would lapse without another check-in. The ticket in a link is not due
//! earlier than the original, so a link cannot be used to call the store more often.

use std::future::ready;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use serde_json::json;
use waiting_room_core::{Ticket, Timestamp};

use super::RoomStage;
use crate::{
    request::RequestHead,
    room::{BoxFuture, OTHER_PERSON, Visitor},
    token::{Identities, OpenError, Opened, TokenSource},
};

/// The header in which the script on the other device sends the token from a link.
pub(crate) const TRANSFER_HEADER: HeaderName = HeaderName::from_static("waiting-room-transfer");

/// The mark that the script of the waiting page adds at the end of a link's query.
const LINK_MARK: &str = "waiting-room-link";

impl RoomStage {
    /// Returns whether a request asks to leave.
    #[inline]
    pub(crate) fn is_leave(&self, head: &RequestHead<'_>) -> bool {
        self.leave_path.as_ref().is_some_and(|path| path.is_asked(head))
    }

    /// Gives up the session or the place of a visitor. Once the store has been told, returns the
    /// answer, which deletes the token.
    ///
    /// A first ticket has nothing to give up. A person's place is not given up either, because the
    /// person may be active on another device, and that session would end with the place.
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
                    // The visitor may have been admitted since it got the ticket. The store then
                    // ends the session.
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

    /// Returns whether a request asks for a link, or presents one.
    #[inline]
    pub(crate) fn is_transfer(&self, head: &RequestHead<'_>) -> bool {
        self.transfer_path.as_ref().is_some_and(|path| path.is_asked(head))
    }

    /// If the request opens a link, returns the address of the page that the link leads to, without
    /// the mark and the token of the link.
    ///
    /// The address is relative, because a router may have removed the first part of the path. Its
    /// fragment is empty. Without a fragment, a browser would keep that of the link (RFC 9110
    /// section 10.2.2).
    #[inline]
    pub(crate) fn without_link(&self, head: &RequestHead<'_>) -> Option<HeaderValue> {
        self.transfer_path.as_ref()?;
        let query = head.uri().query()?.strip_suffix(LINK_MARK)?;
        if *head.method() != Method::GET {
            return None;
        }
        let (separator, query) = match query.strip_suffix('&') {
            Some(query) => ("?", query),
            None if query.is_empty() => ("", ""),
            None => return None,
        };
        let (_, page) = head.uri().path().rsplit_once('/')?;
        HeaderValue::try_from(format!("./{page}{separator}{query}#")).ok()
    }

    /// Returns the ticket from the link that a request presents, or `None` if the link is missing,
    /// invalid or another person's.
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

    /// Answers the device that asks for a link to the place of this ticket, or returns `None` if
    /// the ticket has no place.
    ///
    /// A first ticket does not have a place yet, and a lapsed ticket no longer has one. No link is
    /// made from a ticket that a node has reissued in an outage, because the link would hide the
    /// reissue.
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

    /// Gives the ticket from a link to the device that has sent the link, or nothing if that device
    /// is already inside, or ahead of the ticket.
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
