//! Visitor ids, which show whether visitors share a network without revealing the network.
//!
//! An id has 128 bits, of which 32 are a hash of the visitor's network. The id is generated at the
//! first touch and sealed into every token of the visitor. The room counts the places of each
//! network by this hash, so it needs only one counter in memory for each network. An id has this
//! layout:
//!
//! ```text
//!   bits   127 … 96     95 … 64      63 … 0
//!         ┌──────────┬────────────┬──────────┐
//!         │ random   │ network    │ random   │
//!         └──────────┴────────────┴──────────┘
//! ```
//!
//! The hash is keyed with a secret that is derived from the sealing key. All nodes with the same
//! sealing key therefore compute the same hash, clients cannot choose networks that collide, and
//! the contents of the store do not reveal addresses.
//!
//! - While a key is being replaced, nodes that seal with different keys compute different hashes.
//!   During this time, a network may use its quota of places once for each key.
//! - Two networks have the same hash with a probability of 2⁻³², and then share one quota of
//!   places.
//! - An unknown network is stored as zero. No known network has the hash zero.

use std::{net::IpAddr, num::NonZeroU32};

use waiting_room_core::{VisitorId, rate::KeyHasher};

use super::keys::KeyRing;
use crate::ambient::random_visitor_id;

/// Generates the ids of new visitors.
#[derive(Debug)]
pub(crate) struct Identities {
    /// The hasher for networks. The hasher's secret is derived from the sealing key; keys that are
    /// used only for opening tokens do not affect it.
    hasher: KeyHasher,
}

impl Identities {
    /// Creates a generator that computes the same network hashes on all nodes with the same sealing
    /// key.
    pub(crate) fn new(keys: &KeyRing) -> Self {
        let (sealing, _) = keys.split();
        Self { hasher: KeyHasher::shared(sealing.network_secret()) }
    }

    /// Generates the id of a new visitor.
    ///
    /// `network` is an IPv4 address, or an IPv6 address with its host bits cleared, or `None` if
    /// the network is unknown. Visitors from an unknown network are not counted against any
    /// network.
    pub(crate) fn draw(&self, network: Option<IpAddr>) -> VisitorId {
        random_visitor_id().of_network(network.map(|network| self.hash(network)))
    }

    /// Returns the upper 32 bits of the keyed hash of a network.
    fn hash(&self, network: IpAddr) -> NonZeroU32 {
        let hash = match network {
            IpAddr::V4(address) => self.hasher.hash(&address.to_bits()),
            IpAddr::V6(address) => self.hasher.hash(&address.to_bits()),
        };
        let [a, b, c, d, ..] = hash.as_u64().to_be_bytes();
        // Zero means an unknown network, so a network with the hash zero gets the hash 1 instead.
        NonZeroU32::new(u32::from_be_bytes([a, b, c, d])).unwrap_or(NonZeroU32::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TokenKey;

    fn identities(byte: u8) -> Identities {
        Identities::new(&KeyRing::new(TokenKey::from_bytes([byte; TokenKey::LEN])))
    }

    fn network(by: &Identities, address: &str) -> Option<NonZeroU32> {
        by.draw(Some(address.parse().unwrap())).network()
    }

    #[test]
    fn visitors_of_one_network_have_it_in_common_and_nothing_else() {
        let by = identities(1);
        let (ann, bob) = (
            by.draw(Some("192.0.2.1".parse().unwrap())),
            by.draw(Some("192.0.2.1".parse().unwrap())),
        );
        assert_eq!(ann.network(), bob.network());
        let different = ann.bits() ^ bob.bits();
        assert!(different >> 96 != 0 && different << 64 != 0, "{different:x}");
        assert_ne!(network(&by, "192.0.2.1"), network(&by, "192.0.2.2"));
        assert_ne!(network(&by, "192.0.2.1"), network(&identities(2), "192.0.2.1"));
        assert_eq!(by.draw(None).network(), None);
    }

    /// If a release changed these values, it would count the same network separately from older
    /// nodes.
    #[test]
    fn the_networks_that_nodes_share_stay_what_they_are() {
        let of = |address| format!("{:08x}", network(&identities(1), address).unwrap());
        assert_eq!([of("192.0.2.1"), of("2001:db8:1:1::")], ["8c8c6e6e", "545894db"]);
    }
}
