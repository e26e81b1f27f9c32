//! Keys, as the hash by which a table knows them.

use std::{fmt, hash::Hash, num::NonZeroU64};

use ahash::RandomState;

/// Sixty-four bits that stand for a key.
///
/// Tables keep nothing else of a key: neither an address nor a name can be read out of them. Two
/// of a million keys are taken for one another with a probability of 3 in 100 million.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(NonZeroU64);

impl KeyHash {
    /// The hash as a number.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0.get()
    }

    pub(super) const fn bits(self) -> NonZeroU64 {
        self.0
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Makes the hashes of keys, with a secret, so that nobody can choose keys that share a hash.
///
/// ```
/// use waiting_room_core::KeyHasher;
///
/// let hasher = KeyHasher::new([3, 1, 4, 1]);
/// assert_eq!(hasher.hash("ann"), hasher.hash("ann"));
/// assert_ne!(hasher.hash("ann"), hasher.hash("bob"));
/// ```
#[derive(Clone)]
pub struct KeyHasher(RandomState);

impl KeyHasher {
    /// A hasher with this secret, which must be random where clients can choose their keys.
    #[must_use]
    pub fn new(secret: [u64; 4]) -> Self {
        let [a, b, c, d] = secret;
        Self(RandomState::with_seeds(a, b, c, d))
    }

    /// The hash of a key; of several parts, as a tuple or a slice.
    #[must_use]
    pub fn hash<K: Hash + ?Sized>(&self, key: &K) -> KeyHash {
        KeyHash(NonZeroU64::new(self.0.hash_one(key)).unwrap_or(NonZeroU64::MIN))
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHasher").finish_non_exhaustive()
    }
}
