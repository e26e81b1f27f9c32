//! Keys, as the hash by which a table knows them.

use std::{
    fmt,
    hash::{Hash, Hasher},
    num::NonZeroU64,
};

use ahash::RandomState;
use siphasher::sip::SipHasher13;

/// Sixty-four bits that stand for a key.
///
/// Tables keep nothing else of a key: neither an address nor a name can be read out of them. Two
/// of a million keys are taken for one another with a probability of 3 in 100 million.
///
/// A key can be one [of a network](Self::of_network). It is the same key with and without.
#[derive(Clone, Copy)]
pub struct KeyHash {
    bits: NonZeroU64,
    network: u16,
}

impl KeyHash {
    /// The same key as one of many in a network, by the hash of which a table knows this one when it
    /// has to forget the key: a key that has lost its place is judged by its network from then on,
    /// and so are keys of the network that are new.
    ///
    /// The network must follow from the key, as that of an address does from the address. A key
    /// without one is judged by some of the bits of its own hash.
    ///
    /// ```
    /// use waiting_room_core::KeyHasher;
    ///
    /// let hasher = KeyHasher::new([3, 1, 4, 1]);
    /// let key = hasher.hash("192.0.2.7");
    /// assert_eq!(key.of_network(hasher.hash("192.0")), key);
    /// ```
    #[must_use]
    pub const fn of_network(self, network: Self) -> Self {
        Self { network: low_bits(network.bits), ..self }
    }

    /// The one key that stands for all keys of the same network, apart from each of them, where that
    /// many networks are told apart.
    #[must_use]
    pub const fn network_key(self, networks: u16) -> Self {
        let network = (self.network as u64 * networks as u64) >> 16;
        // Spread, since tables look for a key by its greater bits. No product is zero: the factor is
        // odd, and the network less than 2^16.
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

    /// Sixteen bits that stand for the network of the key, or for the key itself.
    pub(super) const fn network(self) -> u16 {
        self.network
    }
}

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
pub struct KeyHasher(Function);

#[derive(Clone)]
enum Function {
    Own(RandomState),
    Shared(SipHasher13),
}

impl KeyHasher {
    /// A hasher with this secret, which must be random where clients can choose their keys.
    ///
    /// The fastest that this machine has; another machine may make other hashes.
    #[must_use]
    pub fn new(secret: [u64; 4]) -> Self {
        let [a, b, c, d] = secret;
        Self(Function::Own(RandomState::with_seeds(a, b, c, d)))
    }

    /// A hasher that makes the same hashes on all machines that have the secret.
    ///
    /// ```
    /// use waiting_room_core::KeyHasher;
    ///
    /// let (here, there) = (KeyHasher::shared([3, 1]), KeyHasher::shared([3, 1]));
    /// assert_eq!(here.hash("ann"), there.hash("ann"));
    /// ```
    #[must_use]
    pub fn shared(secret: [u64; 2]) -> Self {
        let [a, b] = secret;
        Self(Function::Shared(SipHasher13::new_with_keys(a, b)))
    }

    /// The hash of a key; of several parts, as a tuple or a slice.
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
        // The least and the greatest mean something else to a table.
        let bits = NonZeroU64::new(bits.min(u64::MAX - 1)).unwrap_or(NonZeroU64::MIN);
        KeyHash { bits, network: low_bits(bits) }
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHasher").finish_non_exhaustive()
    }
}

/// Feeds numbers in one order of bytes and one size, whatever the machine.
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

/// The group of a table that the hash of a key points at first.
pub(super) fn first_group(key: KeyHash, groups: usize) -> usize {
    group(key.bits().get(), groups)
}

/// The group of a table for a key that found its first one full.
pub(super) fn second_group(key: KeyHash, groups: usize) -> usize {
    group(key.bits().get().rotate_left(32), groups)
}

/// The group of a table of `groups` that a hash points at, evenly (Lemire, TOMACS 2019).
fn group(hash: u64, groups: usize) -> usize {
    let group = (u128::from(hash) * groups as u128) >> 64;
    usize::try_from(group).expect("a product of a hash and a count is less than the count")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were they others tomorrow, nodes of two releases would count by themselves.
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
