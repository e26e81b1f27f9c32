//! Visitor ids, which show whether visitors share a network without revealing the network.
//!
//! An id has 128 bits, of which 48 are hashes of the visitor's networks: of the /16, /24 and address
//! in IPv4, and of the /32, /48 and /64 in IPv6. The id is generated at the first touch and sealed
//! into every token of the visitor. The room counts the slots and places of each network by these
//! hashes, so it needs only a few counters in memory for each network. An id has this layout:
//!
//! ```text
//!   bits   127 … 112    111 … 96   95 … 80    79 … 64    63 … 0
//!         ┌───────────┬──────────┬──────────┬──────────┬──────────┐
//!         │ random    │ wide     │ middle   │ narrow   │ random   │
//!         └───────────┴──────────┴──────────┴──────────┴──────────┘
//! ```
//!
//! Each hash is keyed with a secret that is derived from the sealing key. All nodes with the same
//! sealing key therefore compute the same hash, clients cannot choose networks that collide, and
//! the contents of the store do not reveal addresses.
//!
//! - While a key is being replaced, nodes that seal with different keys compute different hashes.
//!   During this time, a network may use its share once for each key.
//! - Two networks within the same network of the next level have the same hash with a probability
//!   of 2⁻¹⁶, and then have one share together.
//! - An unknown network is stored as zero. No known wide network has the hash zero.
//!
//! The id of a person that the application identifies is not random, so that the person has the same
//! id on each of its devices:
//!
//! ```text
//!   bits   127 … 112    111 … 96   95 … 64    63 … 0
//!         ┌───────────┬──────────┬──────────┬──────────┐
//!         │ `PERSON`  │ 0        │ `PERSON` │ identity │
//!         └───────────┴──────────┴──────────┴──────────┘
//! ```
//!
//! - The devices of a person are in different networks, so the person's id contains no network. A
//!   random id never looks like a person's id: it has a wide network, or zeros in all bits of the
//!   networks.
//! - While a key is being replaced, a person may have one id for each key. A token with any of
//!   these ids is accepted.
//! - Two persons have the same id with a probability of 2⁻⁶⁴.

use std::{hash::Hash, iter, net::IpAddr, num::NonZeroU16};

use waiting_room_core::{VisitorId, rate::KeyHasher, room::Network};

use super::keys::KeyRing;
use crate::ambient::random_visitor_id;

/// Generates the ids of new visitors.
#[derive(Debug)]
pub(crate) struct Identities {
    /// The hasher for networks. The hasher's secret is derived from the sealing key; keys that are
    /// used only for opening tokens do not affect it.
    hasher: KeyHasher,
    /// The hashers for the identities of persons, one for each key. The first one belongs to the
    /// sealing key.
    persons: Vec<KeyHasher>,
}

impl Identities {
    /// Creates a generator that computes the same network hashes on all nodes with the same sealing
    /// key.
    pub(crate) fn new(keys: &KeyRing) -> Self {
        let (sealing, older) = keys.split();
        let all = iter::once(sealing).chain(older);
        Self {
            hasher: KeyHasher::shared(sealing.network_secret()),
            persons: all.map(|key| KeyHasher::shared(key.identity_secret())).collect(),
        }
    }

    /// Returns the id of the person with this identity. Hashing an identity takes time in
    /// proportion to its length, and no memory.
    pub(crate) fn of_person(&self, identity: &str) -> VisitorId {
        // There is always a sealing key, so the fallback is never used.
        self.persons.first().map_or_else(random_visitor_id, |by| person(by, identity))
    }

    /// Returns whether an id is that of any person.
    pub(crate) const fn is_person(id: VisitorId) -> bool {
        id.bits() >> 64 == PERSON
    }

    /// Returns whether an id is that of the person with this identity, under any key.
    pub(crate) fn is_of(&self, id: VisitorId, identity: &str) -> bool {
        self.persons.iter().any(|by| person(by, identity) == id)
    }

    /// Generates the id of a new visitor.
    ///
    /// `network` is an IPv4 address, or an IPv6 address with its host bits cleared, or `None` if
    /// the network is unknown. Visitors from an unknown network are not counted against any
    /// network.
    pub(crate) fn draw(&self, network: Option<IpAddr>) -> VisitorId {
        random_visitor_id().of_network(network.map(|network| self.nested(network)))
    }

    /// Returns the hashes of a network and of the networks around it.
    fn nested(&self, network: IpAddr) -> Network {
        let [wide, middle, narrow] = match network {
            IpAddr::V4(address) => {
                [16, 8, 0].map(|host| self.hash(host, address.to_bits() >> host))
            }
            IpAddr::V6(address) => {
                [96, 80, 0].map(|host| self.hash(host, address.to_bits() >> host))
            }
        };
        // Zero means an unknown network, so a network with the hash zero gets the hash 1 instead.
        Network::new(NonZeroU16::new(wide).unwrap_or(NonZeroU16::MIN), middle, narrow)
    }

    /// Returns the upper 16 bits of the keyed hash of a prefix, without its `host` bits.
    fn hash(&self, host: u32, prefix: impl Hash) -> u16 {
        let [a, b, ..] = self.hasher.hash(&(host, prefix)).as_u64().to_be_bytes();
        u16::from_be_bytes([a, b])
    }
}

/// Returns the id of a person.
fn person(by: &KeyHasher, identity: &str) -> VisitorId {
    VisitorId::new(PERSON << 64 | u128::from(by.hash(identity).as_u64()))
}

/// The upper half of the id of a person: the letters `PE`, no network, and the letters `RSON`.
const PERSON: u128 = 0x5045_0000_5253_4f4e;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TokenKey;

    fn identities(byte: u8) -> Identities {
        Identities::new(&KeyRing::new(TokenKey::from_bytes([byte; TokenKey::LEN])))
    }

    fn network(by: &Identities, address: &str) -> Option<Network> {
        by.draw(Some(address.parse().unwrap())).network()
    }

    #[test]
    fn visitors_of_one_network_share_only_the_network() {
        let by = identities(1);
        let ann = by.draw(Some("192.0.2.1".parse().unwrap()));
        let bob = by.draw(Some("192.0.2.1".parse().unwrap()));
        assert_eq!(ann.network(), bob.network());
        let different = ann.bits() ^ bob.bits();
        assert!(different >> 112 != 0 && different << 64 != 0, "{different:x}");
        assert_ne!(network(&by, "192.0.2.1"), network(&by, "192.0.2.2"));
        assert_ne!(network(&by, "192.0.2.1"), network(&identities(2), "192.0.2.1"));
        assert_eq!(by.draw(None).network(), None);
    }

    #[test]
    fn each_person_has_one_id_of_its_own() {
        let by = identities(1);
        let ann = by.of_person("ann");
        assert_eq!(ann, by.of_person("ann"));
        assert_ne!(ann, by.of_person("Ann"));
        assert_ne!(ann, identities(2).of_person("ann"));
        assert!(Identities::is_person(ann) && by.is_of(ann, "ann") && !by.is_of(ann, "ben"));
        assert_eq!(ann.network(), None);
        let anonymous = by.draw(Some("192.0.2.1".parse().unwrap()));
        assert!(!Identities::is_person(anonymous) && !by.is_of(anonymous, "ann"));
        assert!(!Identities::is_person(by.draw(None)));
    }

    #[test]
    fn a_person_is_known_under_each_key_of_the_ring() {
        let key = |byte| TokenKey::from_bytes([byte; TokenKey::LEN]);
        let ring =
            |sealing, older| Identities::new(&KeyRing::new(key(sealing)).also_opens(key(older)));
        let before = ring(1, 2);
        let after = ring(2, 1);
        let ann = before.of_person("ann");
        assert_ne!(ann, after.of_person("ann"));
        assert!(after.is_of(ann, "ann") && before.is_of(after.of_person("ann"), "ann"));
        assert!(!after.is_of(ann, "ben") && !identities(3).is_of(ann, "ann"));
    }

    #[test]
    fn an_identity_of_1_mib_is_hashed_to_the_last_byte() {
        let by = identities(1);
        let long = "a".repeat(1024 * 1024);
        let other = format!("{}b", &long[1..]);
        assert!(by.is_of(by.of_person(&long), &long) && !by.is_of(by.of_person(&long), &other));
    }

    /// If a release changed these values, a person would have a second place.
    #[test]
    fn hashes_of_persons_that_nodes_share_never_change() {
        assert_eq!(
            format!("{:032x}", identities(1).of_person("ann").bits()),
            "5045000052534f4e3acc227e0eb4dfcc"
        );
    }

    /// If a release changed these values, it would count the same network separately from older
    /// nodes.
    #[test]
    fn hashes_of_networks_that_nodes_share_never_change() {
        let of =
            |address| format!("{:012x}", network(&identities(1), address).unwrap().levels()[0]);
        assert_eq!([of("192.0.2.1"), of("2001:db8:1:1::")], ["8b4ee7c1ef76", "5fccc4c21589"]);
    }
}
