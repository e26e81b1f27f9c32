//! The address of a client, derived from the connection and from headers of trusted proxies.
//!
//! The address of the connection, the *peer*, cannot be forged. Behind a proxy, the peer is the
//! proxy. The client's address is then found in a header that the proxy wrote, to the right of
//! anything that the client put into the header:
//!
//! ```text
//!   client ──────────► proxy ───────► balancer ──────► layer
//!   203.0.113.9        10.0.0.2       10.0.0.1
//!
//!   x-forwarded-for:   8.8.8.8,       203.0.113.9,     10.0.0.2         peer: 10.0.0.1
//!                      claimed by     seen by          seen by
//!                      the client     the proxy        the balancer
//! ```
//!
//! The layer therefore walks the chain from the peer to the left for as long as the hops are
//! trusted proxies. The first address that does not belong to a trusted proxy is the client's.
//! Everything farther to the left is unverified. An entry that is not an address ends the walk, and
//! the last hop before the entry counts as the client. All clients behind this hop then share a
//! quota, but no client can obtain a new key by sending garbage.
//!
//! Exactly one source is read, without a fallback to another header, because a proxy that sets one
//! header passes on forged headers with other names. If the peer is unknown, so is the client,
//! whatever the headers contain.

mod chain;
mod entry;
mod trusted;

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{FORWARDED, GetAll},
};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use self::chain::{Chain, Syntax};
pub use self::trusted::TrustedProxies;
pub(crate) use self::trusted::network;
use crate::misconfiguration::Misconfiguration;

/// The source of a client's address: the connection, or a header that trusted proxies write.
///
/// The address is used by per-address limits, gates and bypass rules, and by the room's shares of
/// networks. With a wrong source, clients can choose their address, or all clients appear to
/// have the same address.
///
/// ```
/// use tower_waiting_room::{ClientIp, TrustedProxies};
///
/// let balancers = TrustedProxies::networks(["10.0.0.0/8", "2001:db8:1::/48"])?;
/// let client_ip = ClientIp::x_forwarded_for(balancers).ipv6_prefix(56);
/// # let _ = client_ip;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientIp {
    source: Source,
    ipv6_prefix: u8,
}

/// The source of a client's address, as configured.
#[derive(Clone, Debug)]
enum Source {
    /// An invalid header name, which is stored so that `header` need not return an error.
    /// `validate` rejects the name; until then, the address of the connection is used.
    Misnamed(String),
    /// The address of the connection.
    Peer,
    /// A header if the peer is trusted, and the address of the connection otherwise.
    Report(Report),
}

/// A header in which proxies report the address of their peer.
#[derive(Clone, Debug)]
struct Report {
    header: HeaderName,
    form: Form,
    /// The peers whose header is trusted, and the hops to skip in a chain.
    trusted: TrustedProxies,
}

/// The format of a header that reports an address.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The address of the client, with or without a port.
    Address,
    /// The address of the client, always followed by a port and without brackets around an IPv6
    /// address, as in `CloudFront-Viewer-Address`.
    AddressBeforePort,
    /// A list to which every hop appends an entry.
    Chain(Syntax),
}

impl ClientIp {
    /// Reads the address from the connection. This source is the default, and is correct if clients
    /// connect directly.
    ///
    /// Behind a proxy, all clients appear to have the address of the proxy. Forwarding headers are
    /// then ignored, which is reported as
    /// [`ForwardedHeaderIgnored`](crate::config::Misconfiguration::ForwardedHeaderIgnored).
    pub const fn peer() -> Self {
        Self { source: Source::Peer, ipv6_prefix: DEFAULT_IPV6_PREFIX }
    }

    /// Reads the address from the `X-Forwarded-For` header, to which each proxy appends the address
    /// of its peer.
    pub fn x_forwarded_for(trusted: TrustedProxies) -> Self {
        let header = HeaderName::from_static("x-forwarded-for");
        Self::reported(header, Form::Chain(Syntax::Nodes), trusted)
    }

    /// Reads the address from the `Forwarded` header (RFC 7239), to which each proxy appends an
    /// element with the address of its peer.
    pub fn forwarded(trusted: TrustedProxies) -> Self {
        Self::reported(FORWARDED, Form::Chain(Syntax::Elements), trusted)
    }

    /// Reads the address from a header that the proxy sets to the address of the client, such as
    /// `CF-Connecting-IP`, `CloudFront-Viewer-Address`, `Fly-Client-IP`, `True-Client-IP` or
    /// `X-Real-IP`.
    ///
    /// The proxy must replace any value that the client sent under this name. A header that occurs
    /// more than once, or whose value is not a single address, is ignored, and the address of the
    /// connection is used instead.
    pub fn header(name: impl Into<String>, trusted: TrustedProxies) -> Self {
        let name = name.into();
        let Ok(header) = HeaderName::try_from(&name) else {
            return Self { source: Source::Misnamed(name), ..Self::peer() };
        };
        let form = match header.as_str() {
            "cloudfront-viewer-address" => Form::AddressBeforePort,
            _ => Form::Address,
        };
        Self::reported(header, form, trusted)
    }

    fn reported(header: HeaderName, form: Form, trusted: TrustedProxies) -> Self {
        Self { source: Source::Report(Report { header, form, trusted }), ..Self::peer() }
    }

    /// Sets the number of leading bits of an IPv6 address that identify a client: from 1 to 128,
    /// and 64 by default.
    ///
    /// A host usually has a whole /64 network and can use a different address from it for every
    /// request, so with a longer prefix a single host can have many keys. Providers assign prefixes
    /// of 48 to 64 bits to households. For IPv4, the whole address is always used.
    pub const fn ipv6_prefix(mut self, bits: u8) -> Self {
        self.ipv6_prefix = bits;
        self
    }

    /// Checks the prefix length, the header name and the proxies.
    ///
    /// # Errors
    ///
    /// Returns an error if the prefix length is not between 1 and 128 bits, if the header name is
    /// invalid, or if the number of hops is out of bounds.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |kind, field, given: &dyn fmt::Display, expected| {
            Err(ConfigError::new(kind, field, given, expected))
        };
        match self.ipv6_prefix {
            0 => return wrong(ConfigErrorKind::TooSmall, "ipv6_prefix", &0, "1 to 128"),
            1..=128 => {}
            bits => return wrong(ConfigErrorKind::TooLarge, "ipv6_prefix", &bits, "1 to 128"),
        }
        match &self.source {
            Source::Misnamed(name) => {
                let given = format_args!("{name:?}");
                wrong(ConfigErrorKind::Malformed, "client_ip", &given, "the name of a header")
            }
            Source::Peer => Ok(()),
            Source::Report(report) => report.trusted.validate(),
        }
    }

    /// Returns the misconfigurations that can be detected before the first request.
    pub(crate) fn lint(&self) -> impl Iterator<Item = Misconfiguration> {
        let is_open = matches!(&self.source, Source::Report(by) if by.trusted.covers_everyone());
        let is_raw = self.ipv6_prefix > DEFAULT_IPV6_PREFIX;
        let open = is_open.then_some(Misconfiguration::EveryoneTrusted);
        let raw = is_raw.then_some(Misconfiguration::RawIpv6Key);
        open.into_iter().chain(raw)
    }

    /// Returns the address of the client, in canonical form: an IPv4-mapped IPv6 address as IPv4.
    ///
    /// Returns `None` if the peer is unknown, which is a mistake in the setup. A header cannot be
    /// trusted if its sender is unknown.
    #[inline(always)]
    pub(crate) fn find(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer?.to_canonical();
        Some(match &self.source {
            Source::Report(_) => self.reported_by(peer, headers),
            Source::Misnamed(_) | Source::Peer => peer,
        })
    }

    /// Returns the address of the client whose request arrived from `peer`. If the peer is a
    /// trusted proxy, the address is in the header.
    fn reported_by(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        self.report_of(peer).map_or(peer, |report| report.read(peer, headers))
    }

    /// Returns the network whose clients share one key with `address`: the IPv4 address itself, or
    /// the IPv6 address with the bits after the prefix set to 0.
    #[inline]
    pub(crate) fn network(&self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let host_bits = 128_u32.saturating_sub(self.ipv6_prefix.into());
                // Here, `checked_shl` returns `None` only for a shift by 128 bits. Such a shift
                // would require a prefix of 0 bits, which validation rejects.
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        }
    }

    /// Returns the misconfiguration that the peer and the forwarding headers of a request suggest.
    /// The check looks up several headers, so it runs only for a sample of the requests.
    pub(crate) fn suspect(
        &self,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Option<Misconfiguration> {
        let Some(peer) = peer else {
            return Some(Misconfiguration::PeerUnknown);
        };
        let report = self.report_of(peer.to_canonical());
        // A chain may span several lines (RFC 9110 section 5.3). A header with a single value must
        // not span lines, because the client may have sent one of the lines.
        let lines = report.map_or(0, |report| report.lines(headers).iter().count());
        if lines > 1 && report.is_some_and(|report| !matches!(report.form, Form::Chain(_))) {
            return Some(Misconfiguration::HeaderRepeated);
        }
        let is_ignored = match report {
            Some(report) if lines > 0 => !report.is_read(headers),
            Some(_) | None => FORWARDING.iter().any(|name| headers.contains_key(*name)),
        };
        is_ignored.then_some(Misconfiguration::ForwardedHeaderIgnored)
    }

    /// Returns the header to read, or `None` if the address of the client is that of `peer`.
    fn report_of(&self, peer: IpAddr) -> Option<&Report> {
        match &self.source {
            Source::Report(report) if report.trusted.covers_peer(peer) => Some(report),
            Source::Misnamed(_) | Source::Peer | Source::Report(_) => None,
        }
    }
}

impl Default for ClientIp {
    fn default() -> Self {
        Self::peer()
    }
}

impl Report {
    /// Returns the client that the headers from a trusted `peer` report, or `peer` if the headers
    /// report no client.
    fn read(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = self.lines(headers);
        match self.form {
            Form::Address => only(&lines).and_then(entry::address).unwrap_or(peer),
            Form::AddressBeforePort => {
                only(&lines).and_then(entry::address_before_port).unwrap_or(peer)
            }
            Form::Chain(syntax) => self.trusted.client(peer, Chain::new(&lines, syntax)),
        }
    }

    /// Returns whether the entry of the nearest proxy is an address. Otherwise, every client of that
    /// proxy has the address of the proxy. `Forwarded` may hide an address, as `unknown` or `_name`
    /// (RFC 7239 section 6).
    fn is_read(&self, headers: &HeaderMap) -> bool {
        let lines = self.lines(headers);
        match self.form {
            Form::Address => only(&lines).and_then(entry::address).is_some(),
            Form::AddressBeforePort => only(&lines).and_then(entry::address_before_port).is_some(),
            Form::Chain(syntax) => Chain::new(&lines, syntax).next().flatten().is_some(),
        }
    }

    /// Returns all lines of the header.
    fn lines<'a>(&self, headers: &'a HeaderMap) -> GetAll<'a, HeaderValue> {
        headers.get_all(&self.header)
    }
}

/// Returns the value of a header that occurs exactly once, and `None` for any other header.
fn only<'a>(lines: &GetAll<'a, HeaderValue>) -> Option<&'a [u8]> {
    let mut lines = lines.iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => Some(line.as_bytes()),
        _ => None,
    }
}

/// The number of bits of an IPv6 address that identify a network. The other 64 bits identify an
/// interface in the network and are chosen by the host (RFC 4291 section 2.5.4).
const DEFAULT_IPV6_PREFIX: u8 = 64;

/// The lower-case names of the headers whose presence suggests that a proxy has sent the request.
const FORWARDING: [&str; 7] = [
    "cf-connecting-ip",
    "cloudfront-viewer-address",
    "fly-client-ip",
    "forwarded",
    "true-client-ip",
    "x-forwarded-for",
    "x-real-ip",
];

#[cfg(test)]
mod tests;
