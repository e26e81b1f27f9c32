//! The sender of a request, as the keys of limits and gates see it.

use std::net::IpAddr;

use waiting_room_core::{
    VisitorId,
    rate::{KeyHash, KeyHasher},
};

use super::{client_ip::ClientIp, head::RequestHead};
use crate::ambient::random_bytes;

/// The part of a layer that identifies clients: the hasher for their keys, and the source of their
/// addresses.
pub(crate) struct Callers {
    hasher: KeyHasher,
    pub(crate) client_ip: ClientIp,
}

impl Callers {
    /// Creates the hasher with a random secret. The secret is never stored, so the hashes are
    /// meaningless outside this layer.
    pub(crate) fn new(client_ip: ClientIp) -> Self {
        let seeds = std::array::from_fn(|_| u64::from_le_bytes(random_bytes()));
        Self { hasher: KeyHasher::new(seeds), client_ip }
    }

    /// Returns the sender of a request, with the visitor whose valid pass the request contains.
    pub(crate) const fn of<'a>(
        &'a self,
        head: RequestHead<'a>,
        visitor: Option<VisitorId>,
    ) -> Caller<'a> {
        Caller { head, hasher: &self.hasher, visitor }
    }
}

/// A request together with everything that its keys are computed from.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) head: RequestHead<'a>,
    pub(crate) hasher: &'a KeyHasher,
    /// The visitor that the pass of the request identifies; `None` without a valid pass.
    pub(crate) visitor: Option<VisitorId>,
}

impl Caller<'_> {
    /// Returns the hash of the client's address, or `None` if the peer is unknown.
    #[inline]
    pub(crate) fn address_hash(&self) -> Option<KeyHash> {
        let address = self.head.network()?;
        let hash = match address {
            IpAddr::V4(address) => self.hasher.hash(&address.to_bits()),
            IpAddr::V6(address) => self.hasher.hash(&address.to_bits()),
        };
        Some(hash.of_network(self.wide_hash(address)))
    }

    /// Returns the hash of the client's network (an IPv4 /16 or an IPv6 /32). If the table of a
    /// limit has no place for a key, the key's requests are counted under this network.
    pub(super) fn wide_network_hash(&self) -> Option<KeyHash> {
        Some(self.wide_hash(self.head.network()?))
    }

    /// Returns the hash of the IPv4 /16 or the IPv6 /32 that contains the address.
    ///
    /// An IPv6 /32 is the smallest allocation to a provider (section 4.3 of RIPE NCC's IPv6
    /// policy), and a site gets at most a /48 of it (RFC 6177 section 2). A flood from one site
    /// therefore affects no clients of other providers.
    fn wide_hash(&self, address: IpAddr) -> KeyHash {
        match address {
            IpAddr::V4(address) => self.hasher.hash(&(address.to_bits() >> 16)),
            IpAddr::V6(address) => self.hasher.hash(&(address.to_bits() >> 96)),
        }
    }
}
