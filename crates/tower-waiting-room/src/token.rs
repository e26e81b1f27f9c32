//! The sealed tokens that identify visitors, and how they are sent and received.
//!
//! A pass or a ticket leaves this process, and comes back from a client that may have copied,
//! changed, withheld or forged it. Tokens are therefore encrypted and authenticated with
//! XAES-256-GCM ([C2SP](https://c2sp.org/XAES-256-GCM)), whose 192-bit nonces can be chosen at
//! random for any realistic number of tokens. A token that comes back is trusted only as a
//! `Verified` value, which only `Tokens::open` constructs.
//!
//! ```text
//!  base64url, without padding, of
//!  ┌─────────┬──────┬────────┬───────┬─ encrypted ────────────┬─────┐
//!  │ version │ kind │ key id │ nonce │ layout │ pass or ticket │ tag │
//!  │    1    │  1   │   4    │  24   │   4    │    44 or 60    │ 16  │  126 or 147 characters
//!  └─────────┴──────┴────────┴───────┴────────┴────────────────┴─────┘
//!   associated data: version, kind, key id, and the name of the room
//! ```
//!
//! The key id selects the key, so the cost of opening a token does not depend on the number of keys
//! on the [`KeyRing`]. A token from another room, a ticket presented as a pass, and a token sealed
//! with a key that is not on the ring are all rejected. The `OpenError` for each rejected token is
//! reported in the metrics, but not to the client. A request without a valid token is treated like
//! a request without a token.
//!
//! A token is sent in a cookie ([`CookieSettings`]), or in the [`TOKEN_HEADER`] header for clients
//! that store no cookies. `Transport::find` searches the cookies and the header.
//!
//! A third kind of token is a ticket in a link, with which its visitor continues on another device
//! (`room/stage/scripts.rs`). It has the layout of a ticket, but is neither a pass nor a ticket.
//!
//! This module does not decide whether a place is still kept or a session has ended, because only
//! the room has this information. A copied token is as good as the original until it expires.

#[cfg(feature = "room")]
mod cookie;
#[cfg(feature = "room")]
mod identity;
#[cfg(feature = "room")]
mod keys;
mod opened;
#[cfg(feature = "room")]
mod payload;
#[cfg(feature = "room")]
mod tokens;
#[cfg(feature = "room")]
mod transport;

#[cfg(test)]
#[cfg(feature = "room")]
mod tests;

pub use self::opened::TOKEN_HEADER;
pub(crate) use self::opened::{Opened, SealedToken, TokenSource, Verified};
#[cfg(feature = "room")]
pub use self::{
    cookie::{CookieSettings, SameSite},
    keys::{KeyRing, TokenKey},
};
#[cfg(feature = "room")]
pub(crate) use self::{
    identity::Identities, payload::OpenError, tokens::Tokens, transport::Transport,
};
