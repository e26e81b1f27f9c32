//! The tokens that the room issues, and how they are added to responses.

use http::HeaderMap;
use waiting_room_core::{Pass, Ticket, Timestamp};

use super::RoomStage;
use crate::{
    room::{PassRenewal, Token},
    token::{TokenSource, Tokens},
};

impl RoomStage {
    /// Returns the name of the room's cookie.
    pub(crate) fn cookie_name(&self) -> &str {
        self.transport.cookie_name()
    }

    /// Returns the token for a visitor whom the store has just admitted.
    pub(crate) fn admit(&self, pass: &Pass, now: Timestamp) -> Token {
        self.pass_token(pass, now)
    }

    /// Returns the token for a waiting visitor. The client stores the token for as long as the
    /// place lasts without a check-in.
    pub(crate) fn ticket_token(&self, ticket: &Ticket) -> Token {
        let max_age = self.store.rules().place_retention;
        Token { sealed: self.tokens.seal_ticket(ticket), max_age }
    }

    /// Returns the token of a pass that was renewed while the application handled the request.
    pub(crate) fn renewed_token(&self, renewal: &PassRenewal) -> Option<Token> {
        renewal.renewed().map(|renewed| self.pass_token(&renewed, renewed.last_check_in))
    }

    /// Returns a token in the form in which a client without cookies sends it back, with the room's
    /// name in front.
    pub(crate) fn line(&self, token: &Token) -> String {
        self.transport.line(token.sealed.as_str())
    }

    /// Adds a token to a response: in a cookie or in a header, depending on how the client sent its
    /// own token.
    pub(crate) fn attach(&self, headers: &mut HeaderMap, source: TokenSource, token: Token) {
        self.transport.attach(headers, source, token.sealed, token.max_age);
    }

    /// Returns the token for a pass of this site. The client stores the token for as long as the
    /// session may last.
    ///
    /// A sliding session may outlast this pass, because a renewal may reach the store even if the
    /// response with the fresh pass is lost. The expired pass still identifies the session, which
    /// continues.
    pub(super) fn pass_token(&self, pass: &Pass, now: Timestamp) -> Token {
        let until =
            if self.is_sliding() { Tokens::session_may_last(pass) } else { pass.expires_at };
        let pass = pass.with_home(self.store.home());
        Token { sealed: self.tokens.seal_pass(&pass), max_age: until.since(now) }
    }
}
