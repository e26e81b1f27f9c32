//! Keys of limits, and their hashes.
//!
//! ```text
//! address, header, … ─► KeyHasher (with a secret) ─► KeyHash: 64 bits of key, 16 bits of network
//!                                                        │                │
//!                                     groups of a table ◄┘                └► shared state of the
//!                                                                            displaced keys
//! ```
//!
//! A table stores only these hashes. It chooses the group of a key by the upper bits of its hash,
//! and finds the state that displaced keys share by the hash of their network.

use std::{
    fmt,
    hash::{Hash, Hasher},
    num::NonZeroU64,
};

use ahash::RandomState;
use siphasher::sip::SipHasher13;

/// A 64-bit hash that stands for a key.
///
/// Tables store nothing else about a key, so neither an address nor a name can be read from them.
/// Among a million keys, the probability that any two share a hash is 3 in 100 million.
///
/// A key may belong to [a network](Self::of_network). The network takes no part in comparisons:
/// with and without it, the key is the same.
#[derive(Clone, Copy)]
pub struct KeyHash {
    /// Neither zero nor `u64::MAX`, which have a special meaning in a table.
    bits: NonZeroU64,
    /// A hash of the network; the low bits of the key's own hash if it has none.
    network: u16,
}

impl KeyHash {
    /// Assigns the key to a network, given by its hash.
    ///
    /// When a full table takes the place of a key away, it keeps the use of that key for the
    /// network. From then on this use applies to the key itself, and to new keys of the network.
    ///
    /// The network must be determined by the key, as an IP network is by an address. A key without
    /// a network is grouped by some bits of its own hash.
    ///
    /// ```
    /// use waiting_room_core::rate::KeyHasher;
    ///
    /// let hasher = KeyHasher::new([3, 1, 4, 1]);
    /// let key = hasher.hash("192.0.2.7");
    /// assert_eq!(key.of_network(hasher.hash("192.0")), key);
    /// ```
    #[must_use]
    pub const fn of_network(self, network: Self) -> Self {
        Self { network: low_bits(network.bits), ..self }
    }

    /// Returns a key that stands for all keys of the same network together, where `networks`
    /// networks are distinguished.
    ///
    /// It differs from the keys of the network themselves, up to the probability of a collision.
    /// All keys of a network have the same one, so their use can be counted in one place.
    #[must_use]
    pub const fn network_key(self, networks: u16) -> Self {
        let network = (self.network as u64 * networks as u64) >> 16;
        // The product spreads small numbers over all 64 bits, because tables choose groups by the
        // upper bits (Fibonacci hashing; the factor is 2^64 divided by the golden ratio). It is
        // never zero: the factor is odd, and the other operand is at most 2^16.
        let bits = (network + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = match NonZeroU64::new(bits) {
            Some(bits) => bits,
            None => NonZeroU64::MIN,
        };
        Self { bits, ..self }
    }

    /// The hash as a number.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.bits.get()
    }

    pub(super) const fn bits(self) -> NonZeroU64 {
        self.bits
    }

    /// A 16-bit hash of the key's network, or 16 bits of its own hash if it has no network.
    pub(super) const fn network(self) -> u16 {
        self.network
    }
}

/// The low 16 bits. Tables choose the first group of a key by the upper bits, so the two are
/// independent.
const fn low_bits(bits: NonZeroU64) -> u16 {
    let [low, high, ..] = bits.get().to_le_bytes();
    u16::from_le_bytes([low, high])
}

impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl Eq for KeyHash {}

impl Hash for KeyHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.bits)
    }
}

/// Hashes keys with a secret, so that clients cannot choose keys that share a hash.
///
/// Without a secret, a client could find keys that collide with those of a victim, or fill the
/// groups of a table on purpose.
///
/// ```
/// use waiting_room_core::rate::KeyHasher;
///
/// let hasher = KeyHasher::new([3, 1, 4, 1]);
/// assert_eq!(hasher.hash("ann"), hasher.hash("ann"));
/// assert_ne!(hasher.hash("ann"), hasher.hash("bob"));
/// ```
#[derive(Clone)]
pub struct KeyHasher(Function);

/// The hash function behind a hasher.
#[derive(Clone)]
enum Function {
    /// aHash, whose result depends on the instructions that the machine has.
    Own(RandomState),
    /// SipHash-1-3, whose result is the same on all machines.
    Shared(SipHasher13),
}

impl KeyHasher {
    /// Creates a hasher with this secret, which must be random where clients can choose their keys.
    ///
    /// It uses the fastest function for this machine. Another machine, or another release, may
    /// produce other hashes from the same secret, so they must not leave the process.
    #[must_use]
    pub fn new(secret: [u64; 4]) -> Self {
        let [a, b, c, d] = secret;
        Self(Function::Own(RandomState::with_seeds(a, b, c, d)))
    }

    /// Creates a hasher that produces the same hashes on all machines that have the secret.
    ///
    /// It is slower than [`new`](Self::new), and is the one for limits that nodes share.
    ///
    /// ```
    /// use waiting_room_core::rate::KeyHasher;
    ///
    /// let (here, there) = (KeyHasher::shared([3, 1]), KeyHasher::shared([3, 1]));
    /// assert_eq!(here.hash("ann"), there.hash("ann"));
    /// ```
    #[must_use]
    pub fn shared(secret: [u64; 2]) -> Self {
        let [a, b] = secret;
        Self(Function::Shared(SipHasher13::new_with_keys(a, b)))
    }

    /// Returns the hash of a key. A key of several parts is passed as a tuple or a slice.
    #[must_use]
    pub fn hash<K: Hash + ?Sized>(&self, key: &K) -> KeyHash {
        let bits = match &self.0 {
            Function::Own(function) => function.hash_one(key),
            Function::Shared(function) => {
                let mut hasher = Portable(*function);
                key.hash(&mut hasher);
                hasher.finish()
            }
        };
        // A table uses zero and `u64::MAX` as marks of places without a key, so a hash is neither.
        let bits = NonZeroU64::new(bits.min(u64::MAX - 1)).unwrap_or(NonZeroU64::MIN);
        KeyHash { bits, network: low_bits(bits) }
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHasher").finish_non_exhaustive()
    }
}

/// Writes numbers in little-endian order and `usize` as 64 bits, so that a key has the same hash on
/// every machine.
///
/// The default methods of [`Hasher`] write numbers in the byte order of the machine.
struct Portable(SipHasher13);

impl Hasher for Portable {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_u32(&mut self, number: u32) {
        self.0.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    fn write_u128(&mut self, number: u128) {
        self.0.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// The index of the first group of a table in which a key may stand.
pub(super) fn first_group(key: KeyHash, groups: usize) -> usize {
    group(key.bits().get(), groups)
}

/// The index of the group for a key whose first group was full.
///
/// It is derived from the other half of the hash, so keys that share their first group rarely share
/// the second one as well.
pub(super) fn second_group(key: KeyHash, groups: usize) -> usize {
    group(key.bits().get().rotate_left(32), groups)
}

/// Maps a hash evenly to one of `groups` groups, by a multiplication in place of a division
/// (Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 2019).
fn group(hash: u64, groups: usize) -> usize {
    let group = (u128::from(hash) * groups as u128) >> 64;
    usize::try_from(group).expect("the upper half of a hash times a count is less than the count")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the hashes changed, nodes of two releases would count the same key separately.
    #[test]
    fn the_hashes_that_nodes_share_stay_what_they_are() {
        let hasher = KeyHasher::shared([3, 1]);
        let address = hasher.hash(&u32::from_be_bytes([192, 0, 2, 1]));
        assert_eq!(format!("{address:?}"), "f319302a63dcb3de");
        let parts = (address, hasher.hash(b"key".as_slice()));
        assert_eq!(format!("{:?}", hasher.hash(&parts)), "bd9baf34a1fe53fa");
    }

    #[test]
    fn another_secret_makes_other_hashes() {
        let shared = |secret| KeyHasher::shared(secret).hash("ann");
        assert_ne!(shared([3, 1]), shared([3, 2]));
        assert_ne!(shared([3, 1]), shared([4, 1]));
    }
}
