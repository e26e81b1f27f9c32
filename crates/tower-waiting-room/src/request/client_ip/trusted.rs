//! The proxies that are trusted to report the addresses of their peers.
//!
//! Proxies can be recognized in two ways, which fail under different conditions:
//!
//! | trust | recognizes a proxy by | fails if |
//! |---|---|---|
//! | networks | its address | a client has an address in one of the networks |
//! | hops | its position, counted from the service | a client bypasses one of the proxies |
//!
//! If too few addresses are trusted, all clients behind an untrusted proxy share one quota. Such a
//! mistake is soon noticed. If too many addresses are trusted, clients can claim any address. Such
//! a mistake goes unnoticed.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::chain::{Chain, MAX_ENTRIES};

/// The proxies in front of the service whose forwarding headers are trusted.
///
/// If a proxy is missing, all clients behind it share one quota. If a trusted address is not that
/// of a proxy, a client at this address can claim any address.
#[derive(Clone, Debug)]
#[must_use]
pub struct TrustedProxies(Trust);

/// The way in which proxies are recognized.
#[derive(Clone, Debug)]
enum Trust {
    /// The number of proxies between a client and the service.
    Hops(u8),
    /// The networks of the proxies, in ascending order and without overlaps.
    Networks(Arc<[IpNet]>),
}

impl TrustedProxies {
    /// Trusts proxies with addresses in these networks, such as `10.0.0.0/8`, `192.0.2.7` or `::1`.
    ///
    /// IPv4 and IPv6 networks are separate, so `::/0` contains no IPv4 address. An IPv4-mapped IPv6
    /// network is treated as the corresponding IPv4 network.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no network, if a network cannot be parsed, or if a network has
    /// bits set beyond its prefix. For example, `10.0.0.1/8` could mean either the address or the
    /// network.
    pub fn networks<'a>(cidrs: impl IntoIterator<Item = &'a str>) -> Result<Self, ConfigError> {
        let networks = cidrs.into_iter().map(network).collect::<Result<Vec<_>, _>>()?;
        if networks.is_empty() {
            let kind = ConfigErrorKind::Missing;
            return Err(ConfigError::new(kind, FIELD, "empty", "at least one network"));
        }
        Ok(Self::of(&networks))
    }

    /// Trusts a chain of `count` proxies, from 1 to 32, whatever their addresses.
    ///
    /// If `count` is 1, the client is the rightmost entry of the header. If the chain has fewer
    /// entries than `count`, the client is the peer. For a header with a single value, `count` has
    /// no effect.
    ///
    /// Trusting a number of hops is safe only if clients cannot bypass the first proxy and connect
    /// directly to the service or to one of the other proxies. A client that bypasses any of the
    /// proxies can claim any address.
    pub const fn hops(count: u8) -> Self {
        Self(Trust::Hops(count))
    }

    /// Trusts proxies with addresses that are not routed on the Internet: loopback, private (RFC
    /// 1918), link-local (RFC 3927, RFC 4291) and unique local (RFC 4193).
    ///
    /// Clients in the same private network are trusted too, and can claim any address.
    pub fn private() -> Self {
        Self::of(&PRIVATE)
    }

    /// Sorts the networks in ascending order and merges overlapping networks, as [`contain`]
    /// requires.
    fn of(networks: &[IpNet]) -> Self {
        Self(Trust::Networks(IpNet::aggregate(&networks.to_vec()).into()))
    }

    /// Checks the number of hops. Networks were checked when they were parsed.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of hops is not between 1 and [`MAX_ENTRIES`]. Entries beyond
    /// this number are never read, so no client would be found.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let (kind, count) = match self.0 {
            Trust::Hops(0) => (ConfigErrorKind::TooSmall, 0),
            Trust::Hops(count) if usize::from(count) > MAX_ENTRIES => {
                (ConfigErrorKind::TooLarge, count)
            }
            Trust::Hops(_) | Trust::Networks(_) => return Ok(()),
        };
        let given = format_args!("{count} hops");
        Err(ConfigError::new(kind, FIELD, given, format_args!("1 to {MAX_ENTRIES} hops")))
    }

    /// Returns whether all IPv4 addresses or all IPv6 addresses are trusted.
    pub(super) fn covers_everyone(&self) -> bool {
        match &self.0 {
            Trust::Hops(_) => false,
            Trust::Networks(networks) => networks.iter().any(|network| network.prefix_len() == 0),
        }
    }

    /// Returns whether the headers of a peer with this address are trusted.
    pub(super) fn covers_peer(&self, peer: IpAddr) -> bool {
        match &self.0 {
            Trust::Hops(_) => true,
            Trust::Networks(networks) => contain(networks, peer),
        }
    }

    /// Walks the chain outward from `peer` and returns the client: the first hop that is not a
    /// trusted proxy or, if the chain ends earlier, the last known hop.
    pub(super) fn client(&self, peer: IpAddr, chain: Chain<'_>) -> IpAddr {
        match &self.0 {
            Trust::Hops(count) => client_after(*count, peer, chain),
            Trust::Networks(networks) => first_outside(networks, peer, chain),
        }
    }
}

/// Returns the client behind `count` proxies, the nearest of which is `peer`.
fn client_after(count: u8, peer: IpAddr, mut chain: Chain<'_>) -> IpAddr {
    let mut hop = peer;
    for _ in 0..count {
        match chain.next() {
            Some(Some(address)) => hop = address,
            Some(None) => return hop,
            // The request bypassed a proxy, so entries written by proxies cannot be told apart from
            // entries written by the client. Only the address of the peer is certain.
            None => return peer,
        }
    }
    hop
}

/// Returns the first hop, starting at `peer`, whose address is in none of the networks.
fn first_outside(networks: &[IpNet], peer: IpAddr, chain: Chain<'_>) -> IpAddr {
    let mut hop = peer;
    for entry in chain {
        match entry {
            Some(address) if contain(networks, address) => hop = address,
            Some(client) => return client,
            None => return hop,
        }
    }
    hop
}

/// Returns whether one of the networks contains the address.
///
/// The networks are in ascending order and do not overlap, so a binary search finds the only
/// candidate: the last network that begins at or before the address.
fn contain(networks: &[IpNet], address: IpAddr) -> bool {
    let after = networks.partition_point(|network| network.network() <= address);
    networks[..after].last().is_some_and(|network| network.contains(&address))
}

/// Parses a network in CIDR notation. An address without a prefix is parsed as a network that
/// contains only this address.
///
/// # Errors
///
/// Returns an error if the string is neither a network nor an address, or if the address has bits
/// set beyond the prefix.
pub(crate) fn network(cidr: &str) -> Result<IpNet, ConfigError> {
    let wrong = |expected: &str| {
        let given = format_args!("{cidr:?}");
        ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, expected)
    };
    let network =
        parse(cidr).ok_or_else(|| wrong("an address or a network, such as 10.0.0.0/8"))?;
    let truncated = network.trunc();
    if network != truncated {
        let address = network.addr();
        return Err(wrong(&format!("the address {address} or the network {truncated}")));
    }
    Ok(network)
}

/// Parses a network that may have bits set beyond its prefix.
fn parse(cidr: &str) -> Option<IpNet> {
    let Some((address, prefix)) = cidr.split_once('/') else {
        return Some(IpNet::from(cidr.parse::<IpAddr>().ok()?.to_canonical()));
    };
    // `u8::from_str` accepts a plus sign, as in `10.0.0.0/+8`.
    if !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let address = address.parse::<IpAddr>().ok()?;
    let prefix = prefix.parse::<u8>().ok()?;
    // Addresses are compared in canonical form, so an IPv4-mapped network must be converted to an
    // IPv4 network. The prefix length of the mapped network includes 96 leading bits that the IPv4
    // network does not have.
    match address.to_canonical() {
        IpAddr::V4(v4) if address.is_ipv6() => {
            Some(IpNet::V4(Ipv4Net::new(v4, prefix.checked_sub(96)?).ok()?))
        }
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => IpNet::new(address, prefix).ok(),
    }
}

/// The name of the field in error messages.
const FIELD: &str = "trusted_proxies";

/// The networks of [`TrustedProxies::private`]. The network 100.64.0.0/10 (RFC 6598) is not
/// included, because its addresses belong to the customers of a carrier, which are clients and not
/// proxies.
const PRIVATE: [IpNet; 8] = [
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10)),
];
