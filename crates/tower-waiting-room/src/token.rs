//! What a visitor carries: the sealed token, and the ways it travels.
//!
//! A pass or a ticket leaves this process and comes back from a client that may have copied,
//! changed, kept or invented it. So it is encrypted and authenticated with XAES-256-GCM
//! ([C2SP](https://c2sp.org/XAES-256-GCM)), whose nonces may be random for as many tokens as will
//! ever be sealed, and what comes back is believed only as a [`Verified`] value, which nothing but
//! [`Tokens::open`] makes.
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
//! The key id picks the key, so a [`KeyRing`] of several keys costs no more to open with than one.
//! A token of another room, a ticket presented as a pass and a token of a key that is not on the
//! ring are refused alike; each refusal has an [`OpenError`] for the metrics, and none reaches the
//! client: who has no valid token has none.
//!
//! A token travels in a cookie ([`CookieSettings`]), or in the header [`TOKEN_HEADER`] for clients
//! that keep no cookies. [`Transport::find`] looks in both.
//!
//! What this module does not judge: whether a place has been kept, and whether a session was
//! ended. The room knows that. A token that was copied is as good as the original while it lasts.

mod cookie;
mod identity;
mod keys;
mod payload;
mod tokens;
mod transport;

#[cfg(test)]
mod tests;

pub use self::{
    cookie::{CookieSettings, SameSite},
    keys::{KeyRing, TokenKey},
    transport::TOKEN_HEADER,
};
pub(crate) use self::{
    identity::Identities,
    tokens::{Opened, SealedToken, Tokens, Verified},
    transport::{TokenSource, Transport},
};
