//! Which hops are proxies of ours, and so tell the truth about the hop before them.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use waiting_room_core::{ConfigError, ConfigErrorKind};

use super::chain::{Chain, MAX_ENTRIES};

/// The proxies in front of the service that say the truth about who talks to them.
///
/// Too few of them, and clients share the limit of a proxy; one too many, and whoever speaks from
/// its address is whom he likes.
#[derive(Clone, Debug)]
#[must_use]
pub struct TrustedProxies(Trust);

#[derive(Clone, Debug)]
enum Trust {
    Hops(u8),
    /// In ascending order, and none overlaps another.
    Networks(Arc<[IpNet]>),
}

impl TrustedProxies {
    /// Proxies with addresses in these networks, such as `10.0.0.0/8`, `192.0.2.7` or `::1`.
    ///
    /// IPv4 and IPv6 are separate: `::/0` contains no IPv4 address.
    ///
    /// # Errors
    ///
    /// If there is none, or one of them is no network, or one has bits beyond its prefix, as
    /// `10.0.0.1/8` has: that may mean one address or the network.
    pub fn networks<'a>(cidrs: impl IntoIterator<Item = &'a str>) -> Result<Self, ConfigError> {
        let networks = cidrs.into_iter().map(network).collect::<Result<Vec<_>, _>>()?;
        if networks.is_empty() {
            let kind = ConfigErrorKind::Missing;
            return Err(ConfigError::new(kind, FIELD, "empty", "at least one network"));
        }
        Ok(Self::of(&networks))
    }

    /// So many proxies, one behind the other, whatever their addresses.
    ///
    /// With 1 the client is the rightmost entry of the header. Where the chain is shorter than the
    /// count, the client is the peer. Right only if nobody can reach the service, or any of the
    /// proxies but the first, by another way: whoever can is believed. For a header with one value
    /// the count does not matter.
    pub const fn hops(count: u8) -> Self {
        Self(Trust::Hops(count))
    }

    /// Proxies with addresses that are not routed on the internet: loopback, private (RFC 1918),
    /// link-local and unique local (RFC 4193).
    ///
    /// Clients in the same network are trusted with them.
    pub fn private() -> Self {
        Self::of(&PRIVATE)
    }

    fn of(networks: &[IpNet]) -> Self {
        Self(Trust::Networks(IpNet::aggregate(&networks.to_vec()).into()))
    }

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

    /// Whether the networks leave no address of a family out.
    pub(super) fn covers_everyone(&self) -> bool {
        match &self.0 {
            Trust::Hops(_) => false,
            Trust::Networks(networks) => networks.iter().any(|network| network.prefix_len() == 0),
        }
    }

    /// Whether whoever is connected from this address may say who the client is.
    pub(super) fn covers_peer(&self, peer: IpAddr) -> bool {
        match &self.0 {
            Trust::Hops(_) => true,
            Trust::Networks(networks) => contain(networks, peer),
        }
    }

    /// The first hop that is no trusted proxy, or else the last that is known.
    pub(super) fn client(&self, peer: IpAddr, chain: Chain<'_>) -> IpAddr {
        match &self.0 {
            Trust::Hops(count) => client_after(*count, peer, chain),
            Trust::Networks(networks) => first_outside(networks, peer, chain),
        }
    }
}

fn client_after(count: u8, peer: IpAddr, mut chain: Chain<'_>) -> IpAddr {
    let mut hop = peer;
    for _ in 0..count {
        match chain.next() {
            Some(Some(address)) => hop = address,
            Some(None) => return hop,
            // Somebody has come by a shorter way: which of the entries are ours is unknown.
            None => return peer,
        }
    }
    hop
}

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

fn contain(networks: &[IpNet], address: IpAddr) -> bool {
    let after = networks.partition_point(|network| network.network() <= address);
    networks[..after].last().is_some_and(|network| network.contains(&address))
}

/// The network of this notation, or of an address alone.
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

fn parse(cidr: &str) -> Option<IpNet> {
    let Some((address, prefix)) = cidr.split_once('/') else {
        return Some(IpNet::from(cidr.parse::<IpAddr>().ok()?.to_canonical()));
    };
    if !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (address, prefix) = (address.parse::<IpAddr>().ok()?, prefix.parse::<u8>().ok()?);
    // Addresses are compared as IPv4 where they are, in whatever notation, so networks are too.
    match address.to_canonical() {
        IpAddr::V4(v4) if address.is_ipv6() => {
            Some(IpNet::V4(Ipv4Net::new(v4, prefix.checked_sub(96)?).ok()?))
        }
        address => IpNet::new(address, prefix).ok(),
    }
}

const FIELD: &str = "trusted_proxies";

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
