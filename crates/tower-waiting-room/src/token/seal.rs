//! The seal: XAES-256-GCM, and the form of a sealed token. No other file seals or opens anything.
//!
//! What stands in the clear is bound as associated data: a changed version, kind or key id, or
//! another room, fails the tag like a changed payload does. Tags are compared in constant time by
//! the cipher, which decrypts nothing before they agree.

use xaes_256_gcm::{
    Nonce, Xaes256Gcm,
    aead::{AeadInOut, KeyInit},
};

use super::{
    keys::{KeyId, TokenKey},
    payload::{Kind, OpenError, TICKET_LEN},
};
use crate::ambient;

/// One key of the ring, ready for the tokens of one room.
#[derive(Debug)]
pub(super) struct Sealer {
    id: KeyId,
    cipher: Xaes256Gcm,
    /// The associated data of a pass and of a ticket.
    bound: [Box<[u8]>; Kind::ALL.len()],
}

impl Sealer {
    pub(super) fn new(key: &TokenKey, room: &str) -> Self {
        let bound = |kind| [&header(kind, key.id()), room.as_bytes()].concat().into_boxed_slice();
        Self {
            id: key.id(),
            cipher: Xaes256Gcm::new(key.bytes().into()),
            bound: Kind::ALL.map(bound),
        }
    }

    pub(super) const fn id(&self) -> KeyId {
        self.id
    }

    /// Seals `payload` into `token` and returns the part of it that is the token.
    pub(super) fn seal<'a, const N: usize>(
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
    pub(super) fn open<'a>(&self, kind: Kind, sealed: &'a mut [u8]) -> Result<&'a [u8], OpenError> {
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
pub(super) fn split(token: &mut [u8]) -> Result<(Kind, KeyId, &mut [u8]), OpenError> {
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
pub(super) const MAX_SEALED_LEN: usize = OVERHEAD + TICKET_LEN;

const VERSION: u8 = 1;
const HEADER_LEN: usize = 2 + KeyId::LEN;
const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;
const OVERHEAD: usize = HEADER_LEN + NONCE_LEN + TAG_LEN;

#[cfg(test)]
mod tests;
