//! The ids of visitors, by which those of one network are told, but not the network itself.
//!
//! An id is 128 bits that are drawn at the first touch and sealed into every token. The room counts
//! the places of each network by 32 of them, so that it needs no memory for it but the counts:
//!
//! ```text
//!   bits   127 … 96     95 … 64      63 … 0
//!         ┌──────────┬────────────┬──────────┐
//!         │ random   │ network    │ random   │
//!         └──────────┴────────────┴──────────┘
//! ```
//!
//! The network is a hash with a secret that follows from the key that seals. So all nodes have the
//! same, no client can choose networks that share a hash, and no reader of the store can tell the
//! addresses. While a key is replaced, nodes that seal with another have another hash, and a network
//! may have its share by each. Two networks of 4 billion pairs share a hash, and then their share.
//! A network that is not known is zero, which none that is known is.

use std::{net::IpAddr, num::NonZeroU32};

use waiting_room_core::{KeyHasher, VisitorId};

use super::keys::KeyRing;
use crate::ambient::random_visitor_id;

/// Draws the ids of visitors.
#[derive(Debug)]
pub(crate) struct Identities {
    hasher: KeyHasher,
}

impl Identities {
    /// Ids that nodes with the same key understand.
    pub(crate) fn new(keys: &KeyRing) -> Self {
        let (sealing, _) = keys.split();
        Self { hasher: KeyHasher::shared(sealing.network_secret()) }
    }

    /// A new visitor, of this network if it is known.
    pub(crate) fn draw(&self, network: Option<IpAddr>) -> VisitorId {
        random_visitor_id().of_network(network.map(|network| self.hash(network)))
    }

    fn hash(&self, network: IpAddr) -> NonZeroU32 {
        let hash = match network {
            IpAddr::V4(address) => self.hasher.hash(&address.to_bits()),
            IpAddr::V6(address) => self.hasher.hash(&address.to_bits()),
        };
        let [a, b, c, d, ..] = hash.as_u64().to_be_bytes();
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

    /// Were they others tomorrow, nodes of two releases would count by themselves.
    #[test]
    fn the_networks_that_nodes_share_stay_what_they_are() {
        let of = |address| format!("{:08x}", network(&identities(1), address).unwrap());
        assert_eq!([of("192.0.2.1"), of("2001:db8:1:1::")], ["8c8c6e6e", "545894db"]);
    }
}
