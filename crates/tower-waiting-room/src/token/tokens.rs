//! Seals passes and tickets as tokens of one room, and opens them again. Apart from `keys`, this is
//! the only file that uses a cipher.
//!
//! The unencrypted part of a token is authenticated as associated data. A changed version, kind or
//! key id, or the name of another room, therefore fails authentication just like a changed payload.
//! The cipher compares tags in constant time, and decrypts nothing before the tags match.
//!
//! A token that was opened is authentic and does not exceed the maximum age. The room checks
//! whether the session or the place of the visitor still exists.

use std::time::Duration;

use base64::Engine;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
use base64::engine::{GeneralPurpose as Base64, general_purpose::URL_SAFE_NO_PAD};
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use base64::engine::{Simd as Base64, general_purpose::NO_PAD};
use waiting_room_core::{Pass, Ticket, Timestamp};
use xaes_256_gcm::{
    Nonce, Xaes256Gcm,
    aead::{AeadInOut, KeyInit},
};

use super::{
    keys::{KeyId, KeyRing, TokenKey},
    opened::{Opened, SealedToken, Verified},
    payload::{self, Kind, OpenError},
};
use crate::ambient;

/// Seals and opens the tokens of one room.
#[derive(Debug)]
pub(crate) struct Tokens {
    base64url: Base64,
    /// The sealing key. Almost every token names this key, so its id is compared first.
    sealing: Sealer,
    /// The keys that only open tokens.
    older: Box<[Sealer]>,
}

impl Tokens {
    /// The maximum length of a string that is decoded, in bytes. Longer strings are rejected
    /// without being read. The longest token that this release issues is 147 bytes long.
    pub(crate) const MAX_TOKEN_LEN: usize = 256;
    /// The maximum difference between the clocks of two nodes. A token that is ahead of the clock
    /// by at most this duration is accepted unchanged.
    pub(crate) const LEEWAY: Duration = Duration::from_secs(30);
    /// The maximum duration by which the clock may have been set back since a token was issued. A
    /// token that is ahead of the clock by at most this duration is treated as if it had been
    /// issued now. A token that is further ahead is rejected.
    pub(crate) const MAX_SET_BACK: Duration = Duration::from_secs(5 * 60);
    /// The maximum age of a token since its last check-in. An older token is void, even if its
    /// payload states a later expiry.
    ///
    /// The maximum age exceeds the longest lifetime of a pass (a session of 24 h, plus the eighth
    /// that renewal adds) and the longest retention of a place (24 h). If sessions are longer than
    /// 21 h 20 min, an expired pass becomes void earlier than
    /// [`session_may_last`](Self::session_may_last) would allow.
    pub(crate) const MAX_AGE: Duration = Duration::from_secs(48 * 60 * 60);

    /// Creates the sealers for the room with this name. The ring must have been validated.
    pub(crate) fn new(keys: &KeyRing, room: &str) -> Self {
        let (first, rest) = keys.split();
        Self {
            base64url: base64url(),
            sealing: Sealer::new(first, room),
            older: rest.iter().map(|key| Sealer::new(key, room)).collect(),
        }
    }

    /// Seals a pass with a new random nonce, so two tokens for the same pass differ.
    pub(crate) fn seal_pass(&self, pass: &Pass) -> SealedToken {
        match pass.home {
            None => self.seal(Kind::Pass, &payload::encode_pass(pass)),
            Some(home) => self.seal(Kind::Pass, &payload::encode_pass_of_site(pass, home)),
        }
    }

    /// Seals a ticket with a new random nonce, so two tokens for the same ticket differ.
    pub(crate) fn seal_ticket(&self, ticket: &Ticket) -> SealedToken {
        self.seal_place(Kind::Ticket, ticket)
    }

    /// Seals a ticket for a link.
    pub(crate) fn seal_transfer(&self, ticket: &Ticket) -> SealedToken {
        self.seal_place(Kind::Transfer, ticket)
    }

    /// Authenticates a string, and returns the pass or the ticket that it contains. The age of the
    /// token is checked at `now`.
    ///
    /// Any client can send any string, so opening never allocates memory.
    ///
    /// # Errors
    ///
    /// Returns an [`OpenError`] for every string that is not a valid token of this room.
    pub(crate) fn open(&self, text: &[u8], now: Timestamp) -> Result<Opened, OpenError> {
        let mut buffer = [0; DECODED_LEN];
        let (kind, payload, is_from_old_key) = self.unseal(text, &mut buffer)?;
        Ok(match kind {
            Kind::Pass => {
                let mut value = payload::decode_pass(payload)?;
                let ahead = check_age(value.last_check_in, now)?;
                // `last_check_in` and `expires_at` are moved by the same amount, so the lifetime of
                // the pass does not change. `accepted_at` is not moved, because it identifies the
                // session.
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
                let (value, is_ahead) = placed(payload, now)?;
                Opened::Ticket(Verified { value, is_from_old_key, is_ahead })
            }
            // The token in a link is valid only for its own path, and is not a ticket anywhere
            // else.
            Kind::Transfer => return Err(OpenError::Forged),
        })
    }

    /// Authenticates the token from a link, and returns the ticket that it contains.
    ///
    /// # Errors
    ///
    /// Returns an [`OpenError`] for every string that is not a valid link token of this room.
    pub(crate) fn open_transfer(&self, text: &[u8], now: Timestamp) -> Result<Ticket, OpenError> {
        let mut buffer = [0; DECODED_LEN];
        let (kind, payload, _) = self.unseal(text, &mut buffer)?;
        match kind {
            Kind::Transfer => Ok(placed(payload, now)?.0),
            Kind::Pass | Kind::Ticket => Err(OpenError::Forged),
        }
    }

    /// Authenticates a string. Returns the kind and the payload of the token, and whether it was
    /// sealed with a key that now only opens tokens.
    fn unseal<'a>(
        &self,
        text: &[u8],
        buffer: &'a mut [u8; DECODED_LEN],
    ) -> Result<(Kind, &'a [u8], bool), OpenError> {
        // The kind and the key id are not authenticated yet, but are part of the associated data. A
        // token with a false kind or key id therefore fails to open below.
        let (kind, key, sealed) = split(self.decode(text, buffer)?)?;
        let is_from_old_key = key != self.sealing.id();
        let sealer = if is_from_old_key {
            self.older.iter().find(|older| older.id() == key).ok_or(OpenError::UnknownKey)?
        } else {
            &self.sealing
        };
        Ok((kind, sealer.open(kind, sealed)?, is_from_old_key))
    }

    /// Returns the latest time at which the session of a pass can end, judging by the pass alone.
    ///
    /// The session may have been renewed right before the pass expired, without the renewed pass
    /// reaching the client. In that case, the session lasts for one more lifetime of a pass.
    pub(crate) fn session_may_last(pass: &Pass) -> Timestamp {
        pass.expires_at + pass.expires_at.since(pass.last_check_in)
    }

    /// Seals a ticket, as a token of this kind.
    fn seal_place(&self, kind: Kind, ticket: &Ticket) -> SealedToken {
        match ticket.entrant {
            None if ticket.late_by == 0 => self.seal(kind, &payload::encode_ticket(ticket)),
            None => self.seal(kind, &payload::encode_late(ticket)),
            Some(entrant) => self.seal(kind, &payload::encode_entrant(ticket, entrant)),
        }
    }

    /// Seals an encoded payload with the sealing key.
    fn seal<const N: usize>(&self, kind: Kind, payload: &[u8; N]) -> SealedToken {
        let mut token = [0; BLOCK_LEN];
        let mut text = [0; BLOCK_LEN.div_ceil(3) * 4];
        let len = self.sealing.seal(kind, payload, &mut token).len();
        // The zeros after the token are encoded too, because the engine uses SIMD only for inputs
        // of at least this length. Each character depends on at most two adjacent bytes, so the
        // characters of the zeros can be cut off.
        self.base64url.encode_slice(token, &mut text).expect("the text has room for the block");
        let text = str::from_utf8(&text[..(len * 4).div_ceil(3)]);
        SealedToken(text.expect("base64url is ASCII").to_owned())
    }

    /// Decodes a string into `buffer`, and returns the part of `buffer` that belongs to the string.
    ///
    /// The engine uses SIMD only for whole blocks, and is slow for the rest. The string is therefore
    /// filled up with characters that stand for zeros.
    fn decode<'a>(
        &self,
        text: &[u8],
        buffer: &'a mut [u8; DECODED_LEN],
    ) -> Result<&'a mut [u8], OpenError> {
        let mut filled = [ZERO; FILLED_LEN];
        let room = filled.get_mut(..text.len()).filter(|_| text.len() <= Self::MAX_TOKEN_LEN);
        room.ok_or(OpenError::Malformed)?.copy_from_slice(text);
        // The engine does not count the last four characters as a part of a block.
        let filled = &filled[..text.len().next_multiple_of(DECODED_BLOCK) + 4];
        self.base64url.decode_slice(filled, buffer).map_err(|_| OpenError::Malformed)?;
        // A single character at the end encodes no whole byte. The bits of the last character that
        // belong to no byte have to be zero (RFC 4648 section 3.5), and so does the byte after them.
        let (bytes, rest) = buffer.split_at_mut(text.len() * 3 / 4);
        if text.len() % 4 == 1 || rest[0] != 0 { Err(OpenError::Malformed) } else { Ok(bytes) }
    }
}

/// One key on the ring, prepared for the tokens of one room.
#[derive(Debug)]
struct Sealer {
    id: KeyId,
    cipher: Xaes256Gcm,
    /// The associated data for each kind: the header of the token, followed by the name of the
    /// room. All tokens of a kind have the same associated data, so it is built only once.
    bound: [Box<[u8]>; Kind::ALL.len()],
}

impl Sealer {
    /// Prepares a key for the room with this name.
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

    /// Seals `payload` into the front of `token`, and returns the part of `token` that was written.
    fn seal<'a, const N: usize>(
        &self,
        kind: Kind,
        payload: &[u8; N],
        token: &'a mut [u8; BLOCK_LEN],
    ) -> &'a [u8] {
        const { assert!(OVERHEAD + N <= BLOCK_LEN, "every payload fits") };
        let (token, _) = token.split_at_mut(OVERHEAD + N);
        let nonce = ambient::random_bytes::<NONCE_LEN>();
        let (clear, rest) = token.split_at_mut(HEADER_LEN + NONCE_LEN);
        let (text, tag) = rest.split_at_mut(N);
        clear[..HEADER_LEN].copy_from_slice(&header(kind, self.id));
        clear[HEADER_LEN..].copy_from_slice(&nonce);
        text.copy_from_slice(payload);
        // The encryption works in place, so `text` contains the payload before the call and the
        // ciphertext after it.
        let computed = self
            .cipher
            .encrypt_inout_detached(&Nonce::from(nonce), self.bound(kind), text.into())
            .expect("a payload is shorter than the cipher's limit of 64 GiB");
        tag.copy_from_slice(&computed);
        token
    }

    /// Opens `sealed` in place, and returns the payload. `sealed` is the token without its header:
    /// the nonce, the encrypted payload and the tag.
    ///
    /// # Errors
    ///
    /// Returns [`OpenError::Malformed`] if `sealed` is too short, and [`OpenError::Forged`] if the
    /// tag does not match.
    fn open<'a>(&self, kind: Kind, sealed: &'a mut [u8]) -> Result<&'a [u8], OpenError> {
        let (nonce, rest) =
            sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(OpenError::Malformed)?;
        let (text, tag) = rest.split_last_chunk_mut::<TAG_LEN>().ok_or(OpenError::Malformed)?;
        let nonce: &[u8; _] = nonce;
        let tag: &[u8; _] = tag;
        self.cipher
            .decrypt_inout_detached(nonce.into(), self.bound(kind), (&mut *text).into(), tag.into())
            .map_err(|_| OpenError::Forged)?;
        Ok(text)
    }

    /// Returns the associated data of tokens of this kind.
    fn bound(&self, kind: Kind) -> &[u8] {
        let [pass, ticket, transfer] = &self.bound;
        match kind {
            Kind::Pass => pass,
            Kind::Ticket => ticket,
            Kind::Transfer => transfer,
        }
    }
}

/// Splits a token into the kind and the key id of its header, and the sealed part.
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

/// Returns the header of a token: the unencrypted bytes in front of the nonce.
fn header(kind: Kind, KeyId([a, b, c, d]): KeyId) -> [u8; HEADER_LEN] {
    [VERSION, kind.byte(), a, b, c, d]
}

/// The length of the block in which a token is sealed and encoded, in bytes. A token is at most
/// this long, and the engine uses SIMD for a whole block.
const BLOCK_LEN: usize = 128;

/// The number of characters that the engine decodes at once.
const DECODED_BLOCK: usize = 32;

/// The length of the longest string, filled up to a whole number of blocks and four characters.
const FILLED_LEN: usize = Tokens::MAX_TOKEN_LEN.next_multiple_of(DECODED_BLOCK) + 4;

/// The number of bytes that the longest string encodes when it has been filled up.
const DECODED_LEN: usize = FILLED_LEN / 4 * 3;

/// The character that encodes six bits that are zero.
const ZERO: u8 = b'A';

/// The version of the format around the payload. The payload has a separate layout number.
const VERSION: u8 = 1;
/// The length of the header, in bytes: the version, the kind and the key id.
const HEADER_LEN: usize = 2 + KeyId::LEN;
/// The length of an XAES-256-GCM nonce, in bytes.
const NONCE_LEN: usize = 24;
/// The length of an AES-GCM tag, in bytes.
const TAG_LEN: usize = 16;
/// The number of bytes that a token has in addition to its payload.
const OVERHEAD: usize = HEADER_LEN + NONCE_LEN + TAG_LEN;

/// Returns the engine for base64url. It detects once whether the processor has suitable SIMD
/// instructions, with which decoding a token takes about half as many instructions.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
fn base64url() -> Base64 {
    Base64::url_safe(NO_PAD)
}

/// Returns the engine for base64url. The crate has no SIMD for this kind of processor.
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
fn base64url() -> Base64 {
    URL_SAFE_NO_PAD
}

/// Decodes a ticket at `now`. Also returns whether the clock was set back after the ticket was
/// sealed.
fn placed(payload: &[u8], now: Timestamp) -> Result<(Ticket, bool), OpenError> {
    let mut ticket = payload::decode_ticket(payload)?;
    let ahead = check_age(ticket.last_check_in, now)?;
    if !ahead.is_zero() {
        // Every ticket that is ahead of the clock is moved by the same amount, which preserves the
        // order of these tickets. The amount is the largest possible, so the visitors with these
        // tickets stay ahead of visitors who arrived after the clock was set back.
        ticket.first_seen = ticket.first_seen.before(Tokens::MAX_SET_BACK);
        ticket.last_check_in = now;
        ticket.next_check_in = now;
    }
    Ok((ticket, !ahead.is_zero()))
}

/// Returns the duration by which the timestamps of a token that was issued at `stamp` must be moved
/// back. The duration is zero unless the token is ahead of the clock by more than
/// [`Tokens::LEEWAY`].
///
/// # Errors
///
/// Returns [`OpenError::FromTheFuture`] if the token is ahead by more than
/// [`Tokens::MAX_SET_BACK`], and [`OpenError::Expired`] if the token is older than
/// [`Tokens::MAX_AGE`].
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
