//! Tokens of one room: made from passes and tickets, and believed again or not. No other file but
//! that of the keys touches a cipher.
//!
//! What stands in the clear is bound as associated data: a changed version, kind or key id, or
//! another room, fails the tag like a changed payload does. Tags are compared in constant time by
//! the cipher, which decrypts nothing before they agree.

use std::{ops::Deref, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use waiting_room_core::{Pass, Ticket, Timestamp};
use xaes_256_gcm::{
    Nonce, Xaes256Gcm,
    aead::{AeadInOut, KeyInit},
};

use super::{
    keys::{KeyId, KeyRing, TokenKey},
    payload::{self, Kind, OpenError, TICKET_LEN},
};
use crate::ambient;

/// Seals and opens the tokens of one room.
#[derive(Debug)]
pub(crate) struct Tokens {
    sealing: Sealer,
    /// The keys that only open.
    older: Box<[Sealer]>,
}

impl Tokens {
    /// The longest text that is looked at, in bytes. Nothing that this version seals comes near.
    pub(crate) const MAX_TOKEN_LEN: usize = 256;
    /// How far the clocks of two nodes may differ.
    pub(crate) const LEEWAY: Duration = Duration::from_secs(30);
    /// How far the clock may have been set back since a token was issued. Up to here it is taken as
    /// issued now; from further in the future it is not believed.
    pub(crate) const MAX_SET_BACK: Duration = Duration::from_secs(5 * 60);
    /// The age at which a token is void whatever it says. Longer than the longest session and the
    /// longest retention of a place, which are a day and what renewal adds.
    pub(crate) const MAX_AGE: Duration = Duration::from_secs(48 * 60 * 60);

    /// The tokens of the room of this name, with the keys of a valid ring.
    pub(crate) fn new(keys: &KeyRing, room: &str) -> Self {
        let (first, rest) = keys.split();
        Self {
            sealing: Sealer::new(first, room),
            older: rest.iter().map(|key| Sealer::new(key, room)).collect(),
        }
    }

    /// Seals a pass.
    pub(crate) fn seal_pass(&self, pass: &Pass) -> SealedToken {
        self.seal(Kind::Pass, &payload::encode_pass(pass))
    }

    /// Seals a ticket.
    pub(crate) fn seal_ticket(&self, ticket: &Ticket) -> SealedToken {
        self.seal(Kind::Ticket, &payload::encode_ticket(ticket))
    }

    /// What the text proves at `now`. Allocates nothing, whatever the text.
    pub(crate) fn open(&self, text: &[u8], now: Timestamp) -> Result<Opened, OpenError> {
        let mut buffer = [0; Self::MAX_TOKEN_LEN / 4 * 3];
        let (kind, key, sealed) = split(decode(text, &mut buffer)?)?;
        let is_from_old_key = key != self.sealing.id();
        let sealer = if is_from_old_key {
            self.older.iter().find(|older| older.id() == key).ok_or(OpenError::UnknownKey)?
        } else {
            &self.sealing
        };
        let payload = sealer.open(kind, sealed)?;
        Ok(match kind {
            Kind::Pass => {
                let mut value = payload::decode_pass(payload)?;
                let ahead = check_age(value.last_check_in, now)?;
                value.last_check_in = value.last_check_in.before(ahead);
                value.expires_at = value.expires_at.before(ahead);
                let verified = Verified { value, is_from_old_key, is_ahead: !ahead.is_zero() };
                if now < value.expires_at {
                    Opened::Pass(verified)
                } else if now < Self::session_may_last(&value) {
                    Opened::Lapsed(verified)
                } else {
                    return Err(OpenError::Expired);
                }
            }
            Kind::Ticket => {
                let mut value = payload::decode_ticket(payload)?;
                let ahead = check_age(value.last_check_in, now)?;
                if !ahead.is_zero() {
                    // By the same time for all, and by so much that they keep their order and stand before
                    // those who came after the clock was set back.
                    value.first_seen = value.first_seen.before(Self::MAX_SET_BACK);
                    value.last_check_in = now;
                    value.next_check_in = now;
                }
                Opened::Ticket(Verified { value, is_from_old_key, is_ahead: !ahead.is_zero() })
            }
        })
    }

    /// Until when the session of a pass may last by what the pass says: until it was renewed for the
    /// last time, and for a whole lifetime from then on.
    pub(crate) fn session_may_last(pass: &Pass) -> Timestamp {
        pass.expires_at + pass.expires_at.since(pass.last_check_in)
    }

    fn seal<const N: usize>(&self, kind: Kind, payload: &[u8; N]) -> SealedToken {
        let mut buffer = [0; MAX_SEALED_LEN];
        SealedToken(URL_SAFE_NO_PAD.encode(self.sealing.seal(kind, payload, &mut buffer)))
    }
}

/// What a token proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// That the visitor was let in, under a pass that has run out since. The session may go on: a
    /// renewal may have reached the store without its answer having reached the visitor.
    Lapsed(Verified<Pass>),
    /// That the visitor was let in.
    Pass(Verified<Pass>),
    /// A place in line.
    Ticket(Verified<Ticket>),
}

/// A pass or a ticket that this room sealed. Only [`Tokens::open`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verified<T> {
    value: T,
    is_from_old_key: bool,
    is_ahead: bool,
}

impl<T> Verified<T> {
    /// Whether the key that sealed it is no longer the one that seals: time for a fresh token.
    pub(crate) const fn is_from_old_key(&self) -> bool {
        self.is_from_old_key
    }

    /// Whether the clock was set back since it was sealed, so that it is taken as issued now.
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

/// A token on its way out: base64url, fit for a cookie, a header and a JSON string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedToken(String);

impl SealedToken {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// One key of the ring, ready for the tokens of one room.
#[derive(Debug)]
struct Sealer {
    id: KeyId,
    cipher: Xaes256Gcm,
    /// The associated data of a pass and of a ticket.
    bound: [Box<[u8]>; Kind::ALL.len()],
}

impl Sealer {
    fn new(key: &TokenKey, room: &str) -> Self {
        let bound = |kind| [&header(kind, key.id()), room.as_bytes()].concat().into_boxed_slice();
        Self {
            id: key.id(),
            cipher: Xaes256Gcm::new(key.bytes().into()),
            bound: Kind::ALL.map(bound),
        }
    }

    const fn id(&self) -> KeyId {
        self.id
    }

    /// Seals `payload` into `token` and returns the part of it that is the token.
    fn seal<'a, const N: usize>(
        &self,
        kind: Kind,
        payload: &[u8; N],
        token: &'a mut [u8; MAX_SEALED_LEN],
    ) -> &'a [u8] {
        const { assert!(OVERHEAD + N <= MAX_SEALED_LEN, "every payload has room") };
        let (token, _) = token.split_at_mut(OVERHEAD + N);
        let nonce = ambient::random_bytes::<NONCE_LEN>();
        let (clear, rest) = token.split_at_mut(HEADER_LEN + NONCE_LEN);
        let (text, tag) = rest.split_at_mut(N);
        clear[..HEADER_LEN].copy_from_slice(&header(kind, self.id));
        clear[HEADER_LEN..].copy_from_slice(&nonce);
        text.copy_from_slice(payload);
        let computed = self
            .cipher
            .encrypt_inout_detached(&Nonce::from(nonce), self.bound(kind), text.into())
            .expect("a payload is shorter than the cipher's limit of 64 GiB");
        tag.copy_from_slice(&computed);
        token
    }

    /// Opens `sealed` in place: nonce, payload and tag, without the header.
    fn open<'a>(&self, kind: Kind, sealed: &'a mut [u8]) -> Result<&'a [u8], OpenError> {
        let (nonce, rest) =
            sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(OpenError::Malformed)?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG_LEN>().ok_or(OpenError::Malformed)?;
        let (nonce, tag): (&[u8; _], &[u8; _]) = (nonce, tag);
        self.cipher
            .decrypt_inout_detached(nonce.into(), self.bound(kind), (&mut *text).into(), tag.into())
            .map_err(|_| OpenError::Forged)?;
        Ok(text)
    }

    fn bound(&self, kind: Kind) -> &[u8] {
        let [pass, ticket] = &self.bound;
        match kind {
            Kind::Pass => pass,
            Kind::Ticket => ticket,
        }
    }
}

/// Splits a token into what its header says and what is sealed.
fn split(token: &mut [u8]) -> Result<(Kind, KeyId, &mut [u8]), OpenError> {
    match token {
        [] => Err(OpenError::Malformed),
        [VERSION, kind, a, b, c, d, sealed @ ..] => {
            let kind = Kind::from_byte(*kind).ok_or(OpenError::Malformed)?;
            Ok((kind, KeyId([*a, *b, *c, *d]), sealed))
        }
        [VERSION, ..] => Err(OpenError::Malformed),
        _ => Err(OpenError::UnknownVersion),
    }
}

/// What stands in the clear in front of the nonce.
fn header(kind: Kind, KeyId([a, b, c, d]): KeyId) -> [u8; HEADER_LEN] {
    [VERSION, kind.byte(), a, b, c, d]
}

/// The longest token of this version, before base64.
const MAX_SEALED_LEN: usize = OVERHEAD + TICKET_LEN;

const VERSION: u8 = 1;
const HEADER_LEN: usize = 2 + KeyId::LEN;
const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;
const OVERHEAD: usize = HEADER_LEN + NONCE_LEN + TAG_LEN;

/// The bytes behind the text, in `buffer`.
fn decode<'a>(text: &[u8], buffer: &'a mut [u8]) -> Result<&'a mut [u8], OpenError> {
    if text.len() > Tokens::MAX_TOKEN_LEN {
        return Err(OpenError::Malformed);
    }
    let len = URL_SAFE_NO_PAD.decode_slice(text, buffer).map_err(|_| OpenError::Malformed)?;
    buffer.get_mut(..len).ok_or(OpenError::Malformed)
}

/// How far a token with this stamp is ahead of the clock, beyond what clocks may differ.
fn check_age(stamp: Timestamp, now: Timestamp) -> Result<Duration, OpenError> {
    let ahead = stamp.since(now);
    if ahead > Tokens::MAX_SET_BACK {
        Err(OpenError::FromTheFuture)
    } else if now.since(stamp) > Tokens::MAX_AGE {
        Err(OpenError::Expired)
    } else {
        Ok(if ahead > Tokens::LEEWAY { ahead } else { Duration::ZERO })
    }
}

#[cfg(test)]
mod seal_tests;
#[cfg(test)]
mod tests;
