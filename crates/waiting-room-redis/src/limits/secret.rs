//! The secret by which all nodes hash keys.

use std::hash::{BuildHasher, RandomState};

use waiting_room_core::{KeyHasher, StoreError};

use crate::reply::malformed;

/// 128 bits, as hexadecimal digits. The first node makes it, and the server keeps it.
#[derive(PartialEq, Eq)]
pub(super) struct Secret {
    text: String,
    halves: [u64; 2],
}

impl Secret {
    /// A random one.
    pub(super) fn random() -> Self {
        // The standard library's seeds are from the operating system, and no other chance is needed.
        let chance = RandomState::new();
        Self::of([chance.hash_one(0), chance.hash_one(1)])
    }

    pub(super) fn parse(text: String) -> Result<Self, StoreError> {
        let half = |digits| u64::from_str_radix(digits, 16).ok();
        let halves = text.split_at_checked(16).and_then(|(a, b)| Some([half(a)?, half(b)?]));
        match halves {
            Some(halves) => Ok(Self { text, halves }),
            None => Err(malformed("the secret of the limits".to_owned())),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn hasher(&self) -> KeyHasher {
        KeyHasher::shared(self.halves)
    }

    fn of(halves: [u64; 2]) -> Self {
        let [first, second] = halves;
        Self { text: format!("{first:016x}{second:016x}"), halves }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").finish_non_exhaustive()
    }
}
