//! The names of keys on the server, and the secret with which the keys of limits are hashed.
//!
//! ```text
//!  {wr:shop}:room      one of the ten keys of a room, see `PARTS`
//!  {wr:shop}:nodes     the nodes of a room, see `nodes.rs`
//!  {wr:api}:limits     the secret and the clock skew of a group of limits
//!  {wr:api}:limits:…   the state of one limit for one client key, see `limits/ask.rs`
//!  {wr:checkout}:shares   the shares of a gate, held and wanted by each node
//! ```
//!
//! The part in braces is the hash tag of the cluster specification: all keys with the same tag are
//! stored on the same node of a cluster. A script requires all its keys to be on one node.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
};

use waiting_room_core::{ConfigError, StoreError, error::ConfigErrorKind, rate::KeyHasher};

use crate::reply::malformed;

/// The keys of one room, in the order in which the scripts receive them.
///
/// All keys of a room have the same hash tag, so a cluster stores them on one node.
#[derive(Clone, Debug)]
pub(crate) struct RoomKeys([String; 10]);

/// The 128-bit secret with which all nodes hash the keys of limits.
///
/// The first node creates the secret, and the server stores it. Without a secret, a client could
/// choose a key whose hash collides with that of another client, and would then share that client's
/// quota.
#[derive(PartialEq, Eq)]
pub(crate) struct Secret {
    /// The secret as 32 hexadecimal digits, as stored on the server.
    text: String,
    /// The secret as two integers, as the hasher expects it.
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
    /// Creates a random secret.
    pub(crate) fn random() -> Self {
        // The standard library seeds `RandomState` from the operating system. This crate needs
        // randomness only for secrets and for the names of nodes, so it does not depend on a random
        // number generator.
        let chance = RandomState::new();
        Self::of([chance.hash_one(0), chance.hash_one(1)])
    }

    /// Reads a secret that another node has stored on the server.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not two groups of at most 16 hexadecimal digits.
    pub(crate) fn parse(text: String) -> Result<Self, StoreError> {
        let half = |digits| u64::from_str_radix(digits, 16).ok();
        let halves = text.split_at_checked(16).and_then(|(a, b)| Some([half(a)?, half(b)?]));
        match halves {
            Some(halves) => Ok(Self { text, halves }),
            None => Err(malformed("the secret of the limits is malformed".to_owned())),
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

// The bits are left out, because a secret must not appear in logs.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}

/// Returns the key of the state that the limits of a group share. The same string is the prefix of
/// the keys for their clients.
pub(crate) fn of_limits(prefix: &str, group: &str) -> String {
    format!("{{{prefix}:{group}}}:limits")
}

/// Returns the key of the hash that contains the nodes' shares of a gate.
pub(crate) fn of_gate(prefix: &str, gate: &str) -> String {
    format!("{{{prefix}:{gate}}}:shares")
}

/// Returns the key of the sorted set that contains the nodes of a room.
pub(crate) fn of_nodes(prefix: &str, room: &str) -> String {
    format!("{{{prefix}:{room}}}:nodes")
}

/// Creates a random 128-bit name for a node, so that no two nodes have the same name.
pub(crate) fn node_id() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}

/// Checks that a name can be part of a hash tag: it must consist of 1 to 64 letters, digits, `-` or
/// `_`.
pub(crate) fn validate_name(name: String) -> Result<String, ConfigError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        let expected = "1 to 64 letters, digits, '-' or '_'";
        let kind = ConfigErrorKind::Malformed;
        let given = format!("{name:?}");
        return Err(ConfigError::new(kind, "name", given, expected));
    }
    Ok(name)
}

/// The keys of a room, in the order of the names in `lua/room/head.lua`.
///
/// Members of the sorted sets and fields of the hashes are visitor ids, except in `room`,
/// `visitors`, `deadlines`, `networks` and `gone`.
///
/// | key | type | content |
/// |---|---|---|
/// | `room` | hash | the rules, the clock, the pace of admissions |
/// | `visitors` | hash | the sessions and the places, in pages, see `lua/room/pages.lua` |
/// | `deadlines` | sorted set | the pages, by a time before which none of their records is due |
/// | `present` | sorted set | visitors who check in when they are due, by rank |
/// | `arrivals` | sorted set | visitors with a place whose rank is not their arrival, by arrival |
/// | `ended` | sorted set | visitors with an ended session, by the time of its end |
/// | `voids` | hash | the time, the kind and the expiry of the record of each end in `ended` |
/// | `minute` | list | the times of recent admissions, newest first |
/// | `networks` | hash | what the visitors of each network hold, see `lua/room/networks.lua` |
/// | `gone` | sorted set | entrants who were admitted or have left, by place, see `lua/room/draw.lua` |
const PARTS: [&str; 10] = [
    "room",
    "visitors",
    "deadlines",
    "present",
    "arrivals",
    "ended",
    "voids",
    "minute",
    "networks",
    "gone",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_end_the_hash_tag_is_refused() {
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
