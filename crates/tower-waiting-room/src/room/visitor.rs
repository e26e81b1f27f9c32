//! The visitor of a request, and the token that its response sends.

use std::time::Duration;

use waiting_room_core::{Pass, Ticket};

use crate::token::{Opened, SealedToken};

/// The status of the visitor who sent a request, as far as the token and the room reveal it.
pub(crate) enum Visitor {
    /// The room admitted the visitor, either on this request or, according to the pass, on an
    /// earlier one.
    Inside(Pass),
    /// The room did not admit the visitor. With a ticket, the visitor waits. Without a ticket, the
    /// visitor was not let into the line.
    Outside(Option<Ticket>),
    /// A CORS preflight that skips the room.
    Preflight,
    /// The token was opened and has this content. The room has not decided yet, because the session
    /// of a pass may have ended.
    Proven(Opened),
    /// The request has no valid token.
    Unknown,
}

/// A sealed token, and the time for which the client should store it (`Max-Age` of the cookie).
pub(crate) struct Token {
    pub(super) sealed: SealedToken,
    pub(super) max_age: Duration,
}
