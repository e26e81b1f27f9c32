//! The names of keys, and the secret by which those of limits are hashed.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
};

use waiting_room_core::{ConfigError, ConfigErrorKind, KeyHasher, StoreError};

use crate::reply::malformed;

/// The keys of one room, in the order in which the scripts name them.
///
/// All have the room as their hash tag, so that a cluster keeps them on one node.
#[derive(Clone, Debug)]
pub(crate) struct RoomKeys([String; 11]);

/// The secret by which all nodes hash the keys of limits: 128 bits, as hexadecimal digits. The first node makes it, and the server keeps it.
#[derive(PartialEq, Eq)]
pub(crate) struct Secret {
    text: String,
    halves: [u64; 2],
}

impl RoomKeys {
    pub(crate) fn new(prefix: &str, room: &str) -> Self {
        Self(PARTS.map(|part| format!("{{{prefix}:{room}}}:{part}")))
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl Secret {
    /// A random one.
    pub(crate) fn random() -> Self {
        // The standard library's seeds are from the operating system, and no other randomness is needed.
        let chance = RandomState::new();
        Self::of([chance.hash_one(0), chance.hash_one(1)])
    }

    pub(crate) fn parse(text: String) -> Result<Self, StoreError> {
        let half = |digits| u64::from_str_radix(digits, 16).ok();
        let halves = text.split_at_checked(16).and_then(|(a, b)| Some([half(a)?, half(b)?]));
        match halves {
            Some(halves) => Ok(Self { text, halves }),
            None => Err(malformed("the secret of the limits".to_owned())),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        KeyHasher::shared(self.halves)
    }

    fn of(halves: [u64; 2]) -> Self {
        let [first, second] = halves;
        Self { text: format!("{first:016x}{second:016x}"), halves }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

/// What the limits of a group share.
pub(crate) fn of_limits(prefix: &str, group: &str) -> String {
    format!("{{{prefix}:{group}}}:limits")
}

/// What the nodes have of a gate.
pub(crate) fn of_gate(prefix: &str, gate: &str) -> String {
    format!("{{{prefix}:{gate}}}:shares")
}

/// A name that can stand in a hash tag.
pub(crate) fn validate_name(name: String) -> Result<String, ConfigError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        let expected = "1 to 64 letters, digits, '-' or '_'";
        let (kind, given) = (ConfigErrorKind::Malformed, format!("{name:?}"));
        return Err(ConfigError::new(kind, "name", given, expected));
    }
    Ok(name)
}

/// | key | type | what it holds |
/// |---|---|---|
/// | `room` | hash | the rules, the clock, the pace of admissions |
/// | `active` | sorted set | who is active, by when the pass expires |
/// | `passes` | hash | the rest of each pass |
/// | `ended` | sorted set | whose session is over, by when that may be forgotten |
/// | `voids` | hash | until when the proofs of these were made that are void, and how the session ended |
/// | `places` | sorted set | who has a place, by arrival |
/// | `present` | sorted set | who checks in as asked, by rank |
/// | `due` | sorted set | who has a place, by when that changes without a check-in |
/// | `kept` | hash | until when each place is kept |
/// | `minute` | list | when visitors were let in, the last first |
/// | `networks` | hash | how many places each network has |
const PARTS: [&str; 11] = [
    "room", "active", "passes", "ended", "voids", "places", "present", "due", "kept", "minute",
    "networks",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_end_the_hash_tag_is_none() {
        assert_eq!(validate_name("check-out_2".to_owned()).unwrap(), "check-out_2");
        for name in ["", "a}b", "a{b", "a:b", "a b", &"a".repeat(65)] {
            let error = validate_name(name.to_owned()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("name is {name:?}, expected 1 to 64")), "{error}");
        }
    }

    #[test]
    fn all_keys_of_a_room_have_one_hash_tag() {
        let keys = RoomKeys::new("wr", "shop");
        assert_eq!(keys.as_slice()[0], "{wr:shop}:room");
        assert!(keys.as_slice().iter().all(|key| key.starts_with("{wr:shop}:")));
    }
}
