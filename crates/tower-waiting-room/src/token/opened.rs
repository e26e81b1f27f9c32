//! The types of opened and sealed tokens, without the code that opens and seals them.

use std::ops::Deref;

use http::HeaderName;
use waiting_room_core::{Pass, Ticket};

/// A token that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The visitor was admitted, but the pass has expired. The session may still be active, because
    /// a renewal may have reached the store although the response did not reach the visitor.
    Lapsed(Verified<Pass>),
    /// The visitor was admitted, and the pass has not expired.
    Pass(Verified<Pass>),
    /// The visitor has a place in line, or a first ticket.
    Ticket(Verified<Ticket>),
}

impl Opened {
    /// Returns the precedence of this token among the tokens of one request. The token with the
    /// largest number takes precedence. No number is 0.
    pub(super) const fn precedence(&self) -> u8 {
        match self {
            Self::Lapsed(_) => 1,
            Self::Ticket(_) => 2,
            Self::Pass(_) => 3,
        }
    }
}

/// A pass or a ticket that this room sealed. Only `Tokens::open` constructs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verified<T> {
    pub(super) value: T,
    pub(super) is_from_old_key: bool,
    pub(super) is_ahead: bool,
}

impl<T> Verified<T> {
    /// Returns whether the token was sealed with a key that now only opens tokens. The client
    /// should get a new token before that key is removed from the ring.
    pub(crate) const fn is_from_old_key(&self) -> bool {
        self.is_from_old_key
    }

    /// Returns whether the clock was set back after the token was sealed. The timestamps of the
    /// token have then been moved as if it had been issued now.
    pub(crate) const fn is_ahead(&self) -> bool {
        self.is_ahead
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A token in its sealed form: base64url, which needs no escaping in cookies, headers and JSON
/// strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedToken(pub(super) String);

impl SealedToken {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a token is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// The token is in the room's cookie.
    Cookie,
    /// The token is in the [`TOKEN_HEADER`] header.
    Header,
}

/// The header in which clients without cookies send their tokens and receive new ones.
///
/// Each line has the form `waiting-room-token: <room>=<token>` and belongs to one room. A response
/// contains lines only for those rooms whose tokens have changed. A client therefore stores the
/// latest line for each room and sends all of these lines, either separately or as one line with
/// commas between them (RFC 9110 section 5.3). A line that ends with an equals sign withdraws the
/// token of its room, which the client can then discard.
///
/// A client that has no token yet may send the header with an empty value, to receive its tokens in
/// this header from the start. Native gRPC clients receive their first token in this header even if
/// they do not send the header. Every room tries to open a token that is sent without the name of a
/// room. At most 16 KiB of the header are read.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("waiting-room-token");
