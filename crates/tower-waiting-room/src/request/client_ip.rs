//! Who a client is, by address, without self-deception.
//!
//! The address of a connection is a fact. Behind a proxy it is the proxy's, and the client's
//! stands in a header that the proxy wrote, to the right of whatever the client itself had written
//! there:
//!
//! ```text
//!   client ──────────► proxy ───────► balancer ──────► layer
//!   203.0.113.9        10.0.0.2       10.0.0.1
//!
//!   x-forwarded-for:   8.8.8.8,       203.0.113.9,     10.0.0.2         the peer: 10.0.0.1
//!                      the client     the proxy        the balancer
//!                      says so        has seen it      has seen it
//! ```
//!
//! So the chain is walked from the peer to the left, for as long as the hops are proxies that are
//! trusted; the first other address is the client. Nothing to the left of it is evidence. An entry
//! that is no address ends the walk at the last hop, which then counts as the client: many share
//! its limit, but nobody gets a fresh one by writing nonsense. There is one source, and no other to
//! fall back on: a proxy that sets one header passes on a forged one of another name.

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
use waiting_room_core::{ConfigError, ConfigErrorKind};

use self::chain::{Chain, Syntax};
pub use self::trusted::TrustedProxies;
pub(crate) use self::trusted::network;
use crate::misconfiguration::Misconfiguration;

/// Where the address of a client is read from.
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

#[derive(Clone, Debug)]
enum Source {
    /// A header that cannot be, which the validation refuses.
    Misnamed(String),
    Peer,
    Report(Report),
}

/// A header in which proxies say whom they talk to.
#[derive(Clone, Debug)]
struct Report {
    header: HeaderName,
    form: Form,
    trusted: TrustedProxies,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// The client alone.
    Address,
    /// The client alone, always with its port, and without brackets around IPv6.
    AddressBeforePort,
    /// Every hop adds an entry.
    Chain(Syntax),
}

impl ClientIp {
    /// From the connection: right where clients connect directly. The default.
    pub const fn peer() -> Self {
        Self { source: Source::Peer, ipv6_prefix: DEFAULT_IPV6_PREFIX }
    }

    /// From the `X-Forwarded-For` header, to which each proxy adds its peer.
    pub fn x_forwarded_for(trusted: TrustedProxies) -> Self {
        let header = HeaderName::from_static("x-forwarded-for");
        Self::reported(header, Form::Chain(Syntax::Nodes), trusted)
    }

    /// From the `Forwarded` header (RFC 7239), to which each proxy adds its peer.
    pub fn forwarded(trusted: TrustedProxies) -> Self {
        Self::reported(FORWARDED, Form::Chain(Syntax::Elements), trusted)
    }

    /// From a header that the proxy sets to the one address of the client, such as
    /// `CF-Connecting-IP`, `CloudFront-Viewer-Address`, `Fly-Client-IP`, `True-Client-IP` or
    /// `X-Real-IP`.
    ///
    /// The proxy must replace what the client has sent under this name. A header that occurs more
    /// than once is not believed.
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

    /// How many bits of an IPv6 address tell clients apart: 64 by default.
    ///
    /// One host has a network of 64 bits to itself and may change the rest of its address with
    /// every request. Providers give a household 64 to 48.
    pub const fn ipv6_prefix(mut self, bits: u8) -> Self {
        self.ipv6_prefix = bits;
        self
    }

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

    /// What looks wrong before the first request.
    pub(crate) fn lint(&self) -> impl Iterator<Item = Misconfiguration> {
        let is_open = matches!(&self.source, Source::Report(by) if by.trusted.covers_everyone());
        let is_raw = self.ipv6_prefix > DEFAULT_IPV6_PREFIX;
        let open = is_open.then_some(Misconfiguration::EveryoneTrusted);
        let raw = is_raw.then_some(Misconfiguration::RawIpv6Key);
        open.into_iter().chain(raw)
    }

    /// The address of the client: the same value in whichever notation it came.
    ///
    /// `None` if the peer is unknown, which is a mistake of the set-up: a header cannot be believed
    /// without knowing who sent it.
    pub(crate) fn find(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer?.to_canonical();
        Some(self.report_of(peer).map_or(peer, |report| report.read(peer, headers)))
    }

    /// The network that shares one limit with the address.
    pub(crate) fn network(&self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let host_bits = 128_u32.saturating_sub(self.ipv6_prefix.into());
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        }
    }

    /// What looks wrong about this request. Meant for a sample of them.
    pub(crate) fn suspect(
        &self,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Option<Misconfiguration> {
        let Some(peer) = peer else {
            return Some(Misconfiguration::PeerUnknown);
        };
        let report = self.report_of(peer.to_canonical());
        let lines = report.map_or(0, |report| report.lines(headers).iter().count());
        if lines > 1 && report.is_some_and(|report| !matches!(report.form, Form::Chain(_))) {
            return Some(Misconfiguration::HeaderRepeated);
        }
        let is_ignored = lines == 0 && FORWARDING.iter().any(|name| headers.contains_key(*name));
        is_ignored.then_some(Misconfiguration::ForwardedHeaderIgnored)
    }

    /// The header to read, if this peer may say who the client is.
    fn report_of(&self, peer: IpAddr) -> Option<&Report> {
        match &self.source {
            Source::Report(report) if report.trusted.covers_peer(peer) => Some(report),
            _ => None,
        }
    }
}

impl Default for ClientIp {
    fn default() -> Self {
        Self::peer()
    }
}

impl Report {
    /// The client, as far as the headers that a trusted `peer` has sent tell.
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

    fn lines<'a>(&self, headers: &'a HeaderMap) -> GetAll<'a, HeaderValue> {
        headers.get_all(&self.header)
    }
}

/// The value of a header that occurs once.
fn only<'a>(lines: &GetAll<'a, HeaderValue>) -> Option<&'a [u8]> {
    let mut lines = lines.iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => Some(line.as_bytes()),
        _ => None,
    }
}

/// What one host has to itself (RFC 4291 section 2.5.4).
const DEFAULT_IPV6_PREFIX: u8 = 64;

/// The headers by which proxies are recognized, in lower case.
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
