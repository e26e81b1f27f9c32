//! The proxies that are trusted to report the address of their peer.
//!
//! There are two ways to recognize them, and each fails in its own way:
//!
//! | trust | recognizes a proxy by | fails if |
//! |---|---|---|
//! | networks | its address | a client has an address in one of the networks |
//! | hops | its position, counted from the service | a client reaches the service past a proxy |
//!
//! With too little trust, clients share the limit of a proxy, which is noticed. With too much, a
//! client can choose its address, which is not.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::chain::{Chain, MAX_ENTRIES};

/// The proxies in front of the service whose forwarding headers are believed.
///
/// If a proxy is missing, all of its clients share one limit. If an address is trusted that is not
/// a proxy, a client that sends from it can claim any address.
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
    /// IPv4 and IPv6 are separate: `::/0` contains no IPv4 address. An IPv4-mapped IPv6 network is
    /// the IPv4 network.
    ///
    /// # Errors
    ///
    /// If there is no network, if one of them cannot be parsed, or if one has bits beyond its
    /// prefix: `10.0.0.1/8` may mean the address or the network.
    pub fn networks<'a>(cidrs: impl IntoIterator<Item = &'a str>) -> Result<Self, ConfigError> {
        let networks = cidrs.into_iter().map(network).collect::<Result<Vec<_>, _>>()?;
        if networks.is_empty() {
            let kind = ConfigErrorKind::Missing;
            return Err(ConfigError::new(kind, FIELD, "empty", "at least one network"));
        }
        Ok(Self::of(&networks))
    }

    /// Trusts `count` proxies in a row, whatever their addresses: 1 to 32.
    ///
    /// With 1, the client is the rightmost entry of the header. If the chain has fewer entries than
    /// `count`, the client is the peer. For a header with a single value, the count does not
    /// matter.
    ///
    /// This is safe only if the service and all proxies but the first can be reached in no other
    /// way. A client that bypasses a proxy can claim any address.
    pub const fn hops(count: u8) -> Self {
        Self(Trust::Hops(count))
    }

    /// Trusts proxies with addresses that are not routed on the Internet: loopback, private (RFC
    /// 1918), link-local (RFC 3927, RFC 4291) and unique local (RFC 4193).
    ///
    /// Clients in the same private network are trusted as well, and can claim any address.
    pub fn private() -> Self {
        Self::of(&PRIVATE)
    }

    /// Merges the networks into ascending ones without overlaps, which [`contain`] relies on.
    fn of(networks: &[IpNet]) -> Self {
        Self(Trust::Networks(IpNet::aggregate(&networks.to_vec()).into()))
    }

    /// Checks the number of hops. Networks were checked when they were parsed.
    ///
    /// # Errors
    ///
    /// If the number of hops is not 1 to [`MAX_ENTRIES`]: more entries are never read, so no client
    /// would be found.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let (kind, count) = match self.0 {
            Trust::Hops(0) => (ConfigErrorKind::TooSmall, 0),
            Trust::Hops(count) if usize::from(count) > MAX_ENTRIES => {
                (ConfigErrorKind::TooLarge, count)
            }
            _ => return Ok(()),
        };
        let given = format_args!("{count} hops");
        Err(ConfigError::new(kind, FIELD, given, format_args!("1 to {MAX_ENTRIES} hops")))
    }

    /// Returns whether all addresses of IPv4 or all of IPv6 are trusted.
    pub(super) fn covers_everyone(&self) -> bool {
        match &self.0 {
            Trust::Hops(_) => false,
            Trust::Networks(networks) => networks.iter().any(|network| network.prefix_len() == 0),
        }
    }

    /// Returns whether the headers of a peer with this address are believed.
    pub(super) fn covers_peer(&self, peer: IpAddr) -> bool {
        match &self.0 {
            Trust::Hops(_) => true,
            Trust::Networks(networks) => contain(networks, peer),
        }
    }

    /// Walks the chain from `peer` outwards and returns the client: the first hop that is not a
    /// trusted proxy or, if the chain ends before, the last hop that is known.
    pub(super) fn client(&self, peer: IpAddr, chain: Chain<'_>) -> IpAddr {
        match &self.0 {
            Trust::Hops(count) => client_after(*count, peer, chain),
            Trust::Networks(networks) => first_outside(networks, peer, chain),
        }
    }
}

/// Returns the client behind `count` proxies, of which `peer` is the nearest.
fn client_after(count: u8, peer: IpAddr, mut chain: Chain<'_>) -> IpAddr {
    let mut hop = peer;
    for _ in 0..count {
        match chain.next() {
            Some(Some(address)) => hop = address,
            Some(None) => return hop,
            // The request bypassed a proxy, so it is unknown which entries were written by proxies
            // and which by the client. The peer alone is certain.
            None => return peer,
        }
    }
    hop
}

/// Returns the first hop from `peer` outwards whose address is in none of the networks.
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
/// The networks are ascending and do not overlap, so a binary search finds the only candidate: the
/// last network that begins at or before the address.
fn contain(networks: &[IpNet], address: IpAddr) -> bool {
    let after = networks.partition_point(|network| network.network() <= address);
    networks[..after].last().is_some_and(|network| network.contains(&address))
}

/// Parses a network in CIDR notation. An address without a prefix is a network of that one address.
///
/// # Errors
///
/// If the text is neither, or if the address has bits beyond the prefix.
pub(crate) fn network(cidr: &str) -> Result<IpNet, ConfigError> {
    let wrong = |expected: &str| {
        let given = format_args!("{cidr:?}");
        ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, expected)
    };
    let network = parse(cidr).ok_or_else(|| wrong("an address or a network, as 10.0.0.0/8"))?;
    let truncated = network.trunc();
    if network != truncated {
        let address = network.addr();
        return Err(wrong(&format!("the address {address} or the network {truncated}")));
    }
    Ok(network)
}

/// Parses a network that may have bits beyond its prefix.
fn parse(cidr: &str) -> Option<IpNet> {
    let Some((address, prefix)) = cidr.split_once('/') else {
        return Some(IpNet::from(cidr.parse::<IpAddr>().ok()?.to_canonical()));
    };
    // `u8::from_str` accepts a sign, as in `10.0.0.0/+8`.
    if !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (address, prefix) = (address.parse::<IpAddr>().ok()?, prefix.parse::<u8>().ok()?);
    // Addresses are compared in canonical form, so an IPv4-mapped network has to become an IPv4
    // network. The 96 leading bits of the mapped notation are not part of its prefix.
    match address.to_canonical() {
        IpAddr::V4(v4) if address.is_ipv6() => {
            Some(IpNet::V4(Ipv4Net::new(v4, prefix.checked_sub(96)?).ok()?))
        }
        address => IpNet::new(address, prefix).ok(),
    }
}

/// The field that errors name.
const FIELD: &str = "trusted_proxies";

/// The networks of [`TrustedProxies::private`]. 100.64.0.0/10 (RFC 6598) is not among them: it
/// contains the customers of a carrier, who are clients.
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
