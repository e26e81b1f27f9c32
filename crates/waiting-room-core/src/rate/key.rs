//! The keys of rate limits, and their hashes.
//!
//! ```text
//! address, header, … ─► KeyHasher (with a secret) ─► KeyHash: 64 bits of key, 16 bits of network
//!                                                        │                │
//!                                     groups of a table ◄┘                └► shared state of the
//!                                                                            displaced keys
//! ```
//!
//! A table stores only hashes of keys. The upper bits of a key's hash select the key's group in the
//! table. The hash of the key's network selects the state that displaced keys share.

use std::{
    fmt,
    hash::{Hash, Hasher},
    num::NonZeroU64,
};

use ahash::RandomState;
use siphasher::sip::SipHasher13;

/// A 64-bit hash that represents a key.
///
/// A table stores nothing else about a key, so neither an address nor a name can be read from a
/// table. Among a million keys, the probability that any two share a hash is 3 in 100 million.
///
/// A key may belong to [a network](Self::of_network). Comparisons ignore the network: a key equals
/// the same key without its network.
#[derive(Clone, Copy)]
pub struct KeyHash {
    /// The hash. It is neither zero nor `u64::MAX`, because these values have a special meaning in
    /// a table.
    bits: NonZeroU64,
    /// A hash of the key's network, or the low bits of the key's own hash if it has no network.
    network: u16,
}

impl KeyHash {
    /// Assigns the key to the network with this hash.
    ///
    /// When a full table gives the key's place to another key, the table remembers what the
    /// displaced key has used, but only for the network as a whole. From then on, this usage counts
    /// against the displaced key and against new keys of the same network.
    ///
    /// The key must determine the network, as an IP address determines its network. A key without a
    /// network is grouped by 16 bits of its own hash.
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

    /// Returns a key that represents all keys of the same network. `networks` is the number of
    /// networks that the caller distinguishes.
    ///
    /// The returned key differs from every key of the network, except in the case of a hash
    /// collision. The returned key is the same for all keys of a network, so their usage can be
    /// counted together.
    #[must_use]
    pub const fn network_key(self, networks: u16) -> Self {
        let network = (self.network as u64 * networks as u64) >> 16;
        // The multiplication spreads small numbers over all 64 bits, because tables choose groups
        // by the upper bits (Fibonacci hashing; the factor is 2^64 divided by the golden ratio).
        // The product is never zero: the factor is odd, and the other operand is between 1 and
        // 2^16.
        let bits = (network + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = match NonZeroU64::new(bits) {
            Some(bits) => bits,
            None => NonZeroU64::MIN,
        };
        Self { bits, ..self }
    }

    /// The hash as an integer.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.bits.get()
    }

    pub(super) const fn bits(self) -> NonZeroU64 {
        self.bits
    }

    /// A 16-bit hash of the key's network, or 16 bits of the key's own hash if the key has no
    /// network.
    pub(super) const fn network(self) -> u16 {
        self.network
    }
}

/// Returns the low 16 bits. Tables choose the first group of a key by the upper bits, so the group
/// and the network are independent.
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

/// Hashes keys with a secret, so that clients cannot construct keys that share a hash.
///
/// Without a secret, a client could find keys that collide with a victim's key, or deliberately
/// fill the groups of a table.
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

/// The hash function of a [`KeyHasher`].
#[derive(Clone)]
enum Function {
    /// aHash, whose results depend on the instruction set of the machine.
    Own(RandomState),
    /// SipHash-1-3, whose results are the same on all machines.
    Shared(SipHasher13),
}

impl KeyHasher {
    /// Creates a hasher with this secret, which must be random if clients can choose their keys.
    ///
    /// The hasher uses the fastest hash function for this machine. A different machine or a
    /// different release may produce different hashes from the same secret, so the hashes must not
    /// leave the process.
    #[must_use]
    pub fn new(secret: [u64; 4]) -> Self {
        let [a, b, c, d] = secret;
        Self(Function::Own(RandomState::with_seeds(a, b, c, d)))
    }

    /// Creates a hasher that produces the same hashes on all machines that use this secret.
    ///
    /// Such a hasher is slower than one created by [`new`](Self::new), and is intended for limits
    /// that several nodes share.
    ///
    /// ```
    /// use waiting_room_core::rate::KeyHasher;
    ///
    /// let here = KeyHasher::shared([3, 1]);
    /// let there = KeyHasher::shared([3, 1]);
    /// assert_eq!(here.hash("ann"), there.hash("ann"));
    /// ```
    #[must_use]
    pub fn shared(secret: [u64; 2]) -> Self {
        let [a, b] = secret;
        Self(Function::Shared(SipHasher13::new_with_keys(a, b)))
    }

    /// Returns the hash of a key. A key with several parts is passed as a tuple or a slice.
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
        // A table uses zero and `u64::MAX` to mark places without a key, so a hash must not have
        // either value.
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

/// The index of the first group in which a table may place a key.
pub(super) fn first_group(key: KeyHash, groups: usize) -> usize {
    group(key.bits().get(), groups)
}

/// The index of the group for a key whose first group was full.
///
/// The index is derived from the other half of the hash, so keys that share their first group
/// rarely also share their second group.
pub(super) fn second_group(key: KeyHash, groups: usize) -> usize {
    group(key.bits().get().rotate_left(32), groups)
}

/// Maps a hash uniformly to one of `groups` groups, using a multiplication instead of a division
/// (Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 2019).
fn group(hash: u64, groups: usize) -> usize {
    let group = (u128::from(hash) * groups as u128) >> 64;
    usize::try_from(group).expect("the upper half of a hash times a count is less than the count")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the hashes changed, nodes that run different releases would count the same key
    /// separately.
    #[test]
    fn the_hashes_that_nodes_share_never_change() {
        let hasher = KeyHasher::shared([3, 1]);
        let address = hasher.hash(&u32::from_be_bytes([192, 0, 2, 1]));
        assert_eq!(format!("{address:?}"), "f319302a63dcb3de");
        let parts = (address, hasher.hash(b"key".as_slice()));
        assert_eq!(format!("{:?}", hasher.hash(&parts)), "bd9baf34a1fe53fa");
    }

    #[test]
    fn the_keys_of_networks_are_as_many_as_are_distinguished() {
        let hasher = KeyHasher::shared([3, 1]);
        let keys = (0..1_000u32).map(|network| {
            let ann = hasher.hash("ann").of_network(hasher.hash(&network));
            let bob = hasher.hash("bob").of_network(hasher.hash(&network));
            assert_eq!(ann.network_key(64), bob.network_key(64));
            ann.network_key(64).as_u64()
        });
        assert_eq!(keys.collect::<std::collections::BTreeSet<_>>().len(), 64);
    }

    #[test]
    fn another_secret_makes_other_hashes() {
        let shared = |secret| KeyHasher::shared(secret).hash("ann");
        assert_ne!(shared([3, 1]), shared([3, 2]));
        assert_ne!(shared([3, 1]), shared([4, 1]));
    }
}
