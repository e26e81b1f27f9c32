//! The keys that seal and open tokens.

use std::{fmt, iter};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use waiting_room_core::{ConfigError, ConfigErrorKind};
use xaes_256_gcm::{
    Tag, Xaes256Gcm,
    aead::{AeadInOut, KeyInit},
};

use crate::ambient;

/// A key that seals passes and tickets: 32 random bytes.
///
/// Every process that serves the room needs the same keys. One is made by, for example,
/// `openssl rand -base64 32`. Its [`Debug`](fmt::Debug) form shows the key id, which every token
/// carries in the clear, and nothing of the key.
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
    bytes: [u8; Self::LEN],
    id: KeyId,
}

impl TokenKey {
    /// The length of a key, in bytes.
    pub const LEN: usize = 32;

    /// The key of these bytes.
    ///
    /// They must be random: a password is not a key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes, id: KeyId::of(&bytes) }
    }

    /// The key of these bytes in base64: standard or url-safe, with or without padding. White
    /// space around it, such as the line end of a file, does not count.
    ///
    /// # Errors
    ///
    /// If it is not base64, or not of 32 bytes. The message says how many there are, and never
    /// what they are.
    pub fn from_base64(text: &str) -> Result<Self, ConfigError> {
        let text = text.trim_ascii();
        let engine = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
        let Ok(bytes) = engine.decode(text) else {
            return Err(wrong_key("not base64"));
        };
        match bytes.try_into() {
            Ok(bytes) => Ok(Self::from_bytes(bytes)),
            Err(bytes) => Err(wrong_key(format_args!("{} bytes long", Vec::len(&bytes)))),
        }
    }

    /// A new key that nobody else has.
    ///
    /// For development and tests: what it seals, no other process opens, nor this one after a
    /// restart.
    ///
    /// # Panics
    ///
    /// If the operating system has no entropy to give.
    #[must_use]
    pub fn random() -> Self {
        Self::from_bytes(ambient::system_bytes())
    }

    pub(super) const fn bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    pub(super) const fn id(&self) -> KeyId {
        self.id
    }

    /// A secret that follows from the key, by which networks are hashed.
    pub(super) fn network_secret(&self) -> [u64; 2] {
        let [a, b, c, d, e, f, g, h, rest @ ..] = tag(&self.bytes, NETWORK_NONCE);
        [u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest)]
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The keys in use: one seals, all open.
///
/// To replace a key without voiding what it sealed, do it in three deployments: let every process
/// open with the new key, then seal with the new and open with the old, then, after the longest
/// session, drop the old.
///
/// ```
/// use tower_waiting_room::{KeyRing, TokenKey};
///
/// let (new, old) = (TokenKey::random(), TokenKey::random());
/// let keys = KeyRing::new(new).also_opens(old);
/// # let _ = keys;
/// ```
#[derive(Clone, Debug)]
pub struct KeyRing {
    sealing: TokenKey,
    older: Vec<TokenKey>,
}

impl KeyRing {
    /// The most keys on a ring. More are refused when the configuration is built.
    pub const MAX_KEYS: usize = 8;

    /// A ring with the one key that seals, and opens.
    #[must_use]
    pub fn new(sealing: TokenKey) -> Self {
        Self { sealing, older: Vec::new() }
    }

    /// Tokens sealed with this key are valid too. A key that is on the ring already changes
    /// nothing.
    #[must_use]
    pub fn also_opens(mut self, key: TokenKey) -> Self {
        if self.keys().all(|known| known.bytes != key.bytes) {
            self.older.push(key);
        }
        self
    }

    /// Checks that there are not too many keys, and that each can be told by its id.
    ///
    /// # Errors
    ///
    /// If there are more than [`MAX_KEYS`](Self::MAX_KEYS), or if two of them happen to have one
    /// id, once in four billion pairs.
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
            if self.keys().take(index).any(|earlier| earlier.id == key.id) {
                let given = format_args!("two keys with the {:?}", key.id);
                let expected = format_args!("one of them replaced by a new random key");
                return wrong(ConfigErrorKind::Contradicts, given, expected);
            }
        }
        Ok(())
    }

    /// The key that seals, and those that only open.
    pub(super) fn split(&self) -> (&TokenKey, &[TokenKey]) {
        (&self.sealing, &self.older)
    }

    fn keys(&self) -> impl Iterator<Item = &TokenKey> {
        iter::once(&self.sealing).chain(&self.older)
    }
}

/// Which key sealed a token: 32 bits derived from it one-way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyId(pub(super) [u8; Self::LEN]);

impl KeyId {
    pub(super) const LEN: usize = 4;

    /// The id of a key: the front of a tag made with it, which says nothing about the key.
    ///
    /// The nonce is a constant of this crate: a random nonce equals it with probability 2⁻¹⁹².
    fn of(key: &[u8; TokenKey::LEN]) -> Self {
        let [a, b, c, d, ..] = tag(key, KEY_ID_NONCE);
        Self([a, b, c, d])
    }
}

/// The tag of nothing, made with a key and a nonce that is used for one purpose alone. It is random to
/// all who do not have the key, and those for other nonces say nothing about it.
fn tag(key: &[u8; TokenKey::LEN], nonce: &[u8; 24]) -> [u8; 16] {
    let tag = Xaes256Gcm::new(key.into())
        .encrypt_inout_detached(nonce.into(), &[], [].as_mut_slice().into())
        .expect("nothing is shorter than the cipher's limit of 64 GiB");
    let Tag { 0: bytes } = tag;
    bytes
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id {:08x}", u32::from_be_bytes(self.0))
    }
}

fn wrong_key(given: impl fmt::Display) -> ConfigError {
    let expected = format_args!("{} bytes in base64", TokenKey::LEN);
    ConfigError::new(ConfigErrorKind::Malformed, "token_key", given, expected)
}

const KEY_ID_NONCE: &[u8; 24] = b"tower-waiting-room keyid";
const NETWORK_NONCE: &[u8; 24] = b"tower-waiting-room netid";

const EITHER_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER_PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER_PADDING);

#[cfg(test)]
mod tests {
    use super::*;

    /// Thirty-two bytes whose base64 has both characters in which the alphabets differ.
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
        // Processes of different versions of this crate share the keys. These were computed by
        // another implementation, in Python on OpenSSL.
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
    fn one_key_twice_on_a_ring_is_one_key() {
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
        // The first two such keys in this order that have one id.
        let ring = KeyRing::new(key(0)).also_opens(key(2774)).also_opens(key(35_014));
        let error = ring.validate().unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::Contradicts);
        assert_eq!(
            error.to_string(),
            "token_keys is two keys with the id 895c02ca, expected one of them replaced by a new \
             random key"
        );
    }
}
