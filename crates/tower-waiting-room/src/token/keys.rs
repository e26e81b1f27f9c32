//! The keys that seal and open tokens.
//!
//! One key seals tokens, and up to seven further keys only open them. A key can therefore be
//! replaced while the tokens that it sealed stay valid. A token identifies its key by an id, which
//! is derived from the key by a one-way function. The secret for hashing networks is derived from
//! the key in the same way (see `identity`).
//!
//! This module does not store or rotate keys. Keys come from the configuration at start-up.

use std::{fmt, iter};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};
use xaes_256_gcm::{
    Tag, Xaes256Gcm,
    aead::{AeadInOut, KeyInit},
};

use crate::ambient;

/// A key that seals passes and tickets: 32 random bytes.
///
/// Every process that serves the room needs the same keys. The `openssl rand -base64 32` command
/// generates a key. The [`Debug`](fmt::Debug) form shows only the key id, which every token
/// contains unencrypted, and no part of the key itself.
///
/// ```
/// use tower_waiting_room::TokenKey;
///
/// let key = TokenKey::from_base64("bm90IGEgc2VjcmV0OyBmb3IgZG9jdW1lbnRhdGlvbiE=")?;
///
/// let error = TokenKey::from_base64("dG9vIHNob3J0").unwrap_err();
/// assert_eq!(error.to_string(), "token_key is 9 bytes long, expected 32 bytes in base64");
/// # let _ = key;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct TokenKey {
    /// The bytes of the key, which must never be logged.
    bytes: [u8; Self::LEN],
    /// The id of the key, derived from `bytes` only once, because opening a token compares the
    /// token's key id with this id.
    id: KeyId,
}

impl TokenKey {
    /// The length of a key, in bytes.
    pub const LEN: usize = 32;

    /// Creates a key from its bytes.
    ///
    /// The bytes must be random. A password is not a suitable key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes, id: KeyId::of(&bytes) }
    }

    /// Reads a key from base64: standard or URL-safe, with or without padding. Leading and trailing
    /// ASCII whitespace, such as the line break at the end of a file, is ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if `text` is not base64 or does not encode 32 bytes. The error message
    /// states the number of bytes, but never their values.
    pub fn from_base64(text: &str) -> Result<Self, ConfigError> {
        let text = text.trim_ascii();
        // The two alphabets differ in only two characters. A string without these characters
        // decodes identically in both alphabets, and both alphabets reject a string that mixes
        // their special characters.
        let engine = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
        let Ok(bytes) = engine.decode(text) else {
            return Err(wrong_key("not base64"));
        };
        match bytes.try_into() {
            Ok(bytes) => Ok(Self::from_bytes(bytes)),
            Err(bytes) => Err(wrong_key(format_args!("{} bytes long", Vec::len(&bytes)))),
        }
    }

    /// Generates a new random key.
    ///
    /// Use a random key only for development and tests. No other process can open the tokens that
    /// this key seals, and neither can this process after a restart.
    ///
    /// # Panics
    ///
    /// Panics if the operating system provides no entropy.
    #[must_use]
    pub fn random() -> Self {
        Self::from_bytes(ambient::system_bytes())
    }

    /// Returns the bytes of the key, to initialize a cipher.
    pub(super) const fn bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    pub(super) const fn id(&self) -> KeyId {
        self.id
    }

    /// Returns a secret for hashing networks, derived from the key.
    ///
    /// Every node with this key derives the same secret, and the secret does not reveal the key.
    pub(super) fn network_secret(&self) -> [u64; 2] {
        self.secret(NETWORK_NONCE)
    }

    /// Returns a secret for hashing the identities of visitors, derived from the key in the same
    /// way.
    pub(super) fn identity_secret(&self) -> [u64; 2] {
        self.secret(IDENTITY_NONCE)
    }

    fn secret(&self, nonce: &[u8; 24]) -> [u64; 2] {
        let [a, b, c, d, e, f, g, h, rest @ ..] = tag(&self.bytes, nonce);
        [u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest)]
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A set of keys: one key seals tokens, and all keys open them.
///
/// Replacing a key without invalidating the tokens that it sealed takes three deployments. First,
/// let every process also open tokens with the new key. Then seal tokens with the new key, but
/// still open tokens with the old key. Finally, once the longest session and the longest retention
/// of a place have passed, remove the old key.
///
/// ```
/// use tower_waiting_room::{KeyRing, TokenKey};
///
/// let new = TokenKey::random();
/// let old = TokenKey::random();
/// let keys = KeyRing::new(new).also_opens(old);
/// # let _ = keys;
/// ```
#[derive(Clone, Debug)]
pub struct KeyRing {
    sealing: TokenKey,
    /// The keys that only open tokens. All keys on the ring are different.
    older: Vec<TokenKey>,
}

impl KeyRing {
    /// The maximum number of keys on a ring, including the sealing key. A configuration with more
    /// keys is rejected.
    pub const MAX_KEYS: usize = 8;

    /// Creates a ring with a single key, which both seals and opens tokens.
    #[must_use]
    pub fn new(sealing: TokenKey) -> Self {
        Self { sealing, older: Vec::new() }
    }

    /// Adds a key that opens tokens but does not seal them. Adding a key that is already on the
    /// ring has no effect.
    #[must_use]
    pub fn also_opens(mut self, key: TokenKey) -> Self {
        if self.keys().all(|known| known.bytes != key.bytes) {
            self.older.push(key);
        }
        self
    }

    /// Checks that the ring does not have too many keys, and that no two keys have the same id.
    ///
    /// # Errors
    ///
    /// Returns an error if the ring has more than [`MAX_KEYS`](Self::MAX_KEYS) keys, or if two keys
    /// have the same id. Two random keys have the same id with a probability of 2⁻³².
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |kind, given: fmt::Arguments<'_>, expected: fmt::Arguments<'_>| {
            Err(ConfigError::new(kind, "token_keys", given, expected))
        };
        let count = self.keys().count();
        if count > Self::MAX_KEYS {
            let expected = format_args!("at most {}", Self::MAX_KEYS);
            return wrong(ConfigErrorKind::TooLarge, format_args!("{count} keys"), expected);
        }
        for (index, key) in self.keys().enumerate() {
            // A token identifies its key only by the id, so tokens sealed with one of the two keys
            // would be rejected as forged.
            if self.keys().take(index).any(|earlier| earlier.id == key.id) {
                let given = format_args!("two keys with the same {:?}", key.id);
                let expected =
                    format_args!("different ids; replace one of the keys with a new random key");
                return wrong(ConfigErrorKind::Contradicts, given, expected);
            }
        }
        Ok(())
    }

    /// Returns the sealing key, and the keys that only open tokens.
    pub(super) fn split(&self) -> (&TokenKey, &[TokenKey]) {
        (&self.sealing, &self.older)
    }

    /// Returns all keys, starting with the sealing key.
    fn keys(&self) -> impl Iterator<Item = &TokenKey> {
        iter::once(&self.sealing).chain(&self.older)
    }
}

/// The id of the key that sealed a token: 32 bits that are derived from the key by a one-way
/// function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyId(pub(super) [u8; Self::LEN]);

impl KeyId {
    /// The length of an id, in bytes.
    pub(super) const LEN: usize = 4;

    /// Derives the id of a key. The id consists of the first bytes of a tag. These bytes reveal
    /// nothing about the key.
    ///
    /// The nonce for the tag is a constant in this crate. The random nonce of a token equals this
    /// constant with a probability of only 2⁻¹⁹².
    fn of(key: &[u8; TokenKey::LEN]) -> Self {
        let [a, b, c, d, ..] = tag(key, KEY_ID_NONCE);
        Self([a, b, c, d])
    }
}

/// Returns the authentication tag of an empty plaintext: 16 bytes that are derived from the key by
/// a one-way function.
///
/// Each purpose has its own nonce, so the tag for one purpose reveals nothing about the others.
/// Without the key, a tag is indistinguishable from random bytes.
fn tag(key: &[u8; TokenKey::LEN], nonce: &[u8; 24]) -> [u8; 16] {
    let tag = Xaes256Gcm::new(key.into())
        .encrypt_inout_detached(nonce.into(), &[], [].as_mut_slice().into())
        .expect("an empty plaintext is shorter than the cipher's limit of 64 GiB");
    let Tag { 0: bytes } = tag;
    bytes
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id {:08x}", u32::from_be_bytes(self.0))
    }
}

/// Returns the error for a string that is not a key. `given` must not contain the string, which may
/// be most of a secret.
fn wrong_key(given: impl fmt::Display) -> ConfigError {
    let expected = format_args!("{} bytes in base64", TokenKey::LEN);
    ConfigError::new(ConfigErrorKind::Malformed, "token_key", given, expected)
}

/// The nonce for key ids. Changing this nonce would make the key ids in all earlier tokens unknown.
const KEY_ID_NONCE: &[u8; 24] = b"tower-waiting-room keyid";
/// The nonce for the secret with which identities are hashed. Changing this nonce would give every
/// person a second place.
const IDENTITY_NONCE: &[u8; 24] = b"tower-waiting-room ident";
/// The nonce for the secret with which networks are hashed. Changing this nonce would change the
/// hash of every network.
const NETWORK_NONCE: &[u8; 24] = b"tower-waiting-room netid";

/// Accepts base64 with or without padding. Not all tools add padding, and a key of fixed length
/// does not need padding.
const EITHER_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER_PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER_PADDING);

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 bytes whose base64 form contains both characters in which the two alphabets differ.
    const BYTES: [u8; 32] = [0xfb; 32];

    fn message(text: &str) -> String {
        TokenKey::from_base64(text).unwrap_err().to_string()
    }

    #[test]
    fn a_key_is_read_in_every_dialect_of_base64() {
        let standard = STANDARD.encode(BYTES);
        let url_safe = URL_SAFE.encode(BYTES);
        assert_ne!(standard, url_safe);
        for text in [&standard, &url_safe] {
            for text in [text.as_str(), text.trim_end_matches('='), &format!(" {text}\r\n")] {
                assert_eq!(TokenKey::from_base64(text).unwrap().bytes, BYTES, "{text}");
            }
        }
    }

    #[test]
    fn a_wrong_key_is_refused_by_its_length_and_never_shown() {
        let expected = "expected 32 bytes in base64";
        assert_eq!(message(""), format!("token_key is 0 bytes long, {expected}"));
        assert_eq!(
            message(&STANDARD.encode([7; 31])),
            format!("token_key is 31 bytes long, {expected}")
        );
        assert_eq!(
            message(&STANDARD.encode([7; 33])),
            format!("token_key is 33 bytes long, {expected}")
        );
        for text in ["hunter2!", "+-+-", "a", "aGk=aGk="] {
            assert_eq!(message(text), format!("token_key is not base64, {expected}"));
        }
    }

    #[test]
    fn a_key_shows_its_id_and_nothing_else() {
        let key = TokenKey::from_bytes([0xab; 32]);
        let shown = format!("{key:?} {:?}", KeyRing::new(key.clone()));
        assert!(shown.contains(&format!("{:?}", key.id)));
        assert!(!shown.contains("ab, ab") && !shown.contains("171"), "{shown}");
        assert!(!shown.contains("abab"), "{shown}");
    }

    #[test]
    fn the_id_of_a_key_never_changes() {
        // Processes with different releases of this crate share keys. The expected ids were
        // computed by another implementation, in Python with OpenSSL.
        assert_eq!(format!("{:?}", KeyId::of(&[0; 32])), "id 93beab78");
        assert_eq!(format!("{:?}", KeyId::of(&[1; 32])), "id 59ef2a48");
    }

    #[test]
    fn random_keys_differ() {
        assert_ne!(TokenKey::random().bytes, TokenKey::random().bytes);
    }

    #[test]
    fn a_ring_holds_eight_keys_and_no_more() {
        let ring = |count: u8| {
            (1..count).fold(KeyRing::new(TokenKey::from_bytes([0; 32])), |ring, n| {
                ring.also_opens(TokenKey::from_bytes([n; 32]))
            })
        };
        assert_eq!(ring(8).validate(), Ok(()));
        let error = ring(9).validate().unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
        assert_eq!(error.to_string(), "token_keys is 9 keys, expected at most 8");
    }

    #[test]
    fn a_duplicate_key_on_a_ring_counts_once() {
        let key = TokenKey::from_bytes([1; 32]);
        let ring = KeyRing::new(key.clone()).also_opens(key);
        assert_eq!(ring.keys().count(), 1);
        assert_eq!(ring.validate(), Ok(()));
    }
    #[test]
    fn two_keys_with_one_id_are_refused() {
        let key = |number: u32| {
            let mut bytes = [0; 32];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            TokenKey::from_bytes(bytes)
        };
        // The first two keys, counting up from zero, that share an id.
        let ring = KeyRing::new(key(0)).also_opens(key(2774)).also_opens(key(35_014));
        let error = ring.validate().unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::Contradicts);
        assert_eq!(
            error.to_string(),
            "token_keys is two keys with the same id 895c02ca, expected different ids; replace one of the keys with a new random key"
        );
    }
}
