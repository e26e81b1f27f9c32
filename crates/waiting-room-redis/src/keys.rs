//! The names of a room's keys.

/// The keys of one room, in the order in which the scripts name them.
///
/// All have the room as their hash tag, so that a cluster keeps them on one node.
#[derive(Clone, Debug)]
pub(crate) struct RoomKeys([String; 10]);

impl RoomKeys {
    pub(crate) fn new(prefix: &str, room: &str) -> Self {
        Self(PARTS.map(|part| format!("{{{prefix}:{room}}}:{part}")))
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }
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
const PARTS: [&str; 10] =
    ["room", "active", "passes", "ended", "voids", "places", "present", "due", "kept", "minute"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_room_have_one_hash_tag() {
        let keys = RoomKeys::new("wr", "shop");
        assert_eq!(keys.as_slice()[0], "{wr:shop}:room");
        assert!(keys.as_slice().iter().all(|key| key.starts_with("{wr:shop}:")));
    }
}
