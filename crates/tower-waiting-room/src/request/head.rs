//! The head of a request, as rules and closures see it, with the address of its client. A
//! [`Caller`] is the sender of a request, as the keys of limits and gates see it.
//!
//! Two properties are expensive to compute and needed by several rules: the client's address, which
//! may require a walk along a chain of proxies, and the readings of the path. [`Findings`] caches
//! both for one request, so each is computed at most once, and only if a rule needs it.

use std::{
    cell::{Cell, OnceCell},
    fmt,
    net::{IpAddr, SocketAddr},
    ops::ControlFlow::{self, Break, Continue},
};

use http::{
    Extensions, HeaderMap, Method, Uri, Version,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};
use memchr::{memchr, memmem, memrchr};
use waiting_room_core::{
    VisitorId,
    rate::{KeyHash, KeyHasher},
};

use super::{client::POLL_HEADER, client_ip::ClientIp, path::Readings};
use crate::{ambient::random_bytes, misconfiguration::Misconfiguration};

/// A request without its body, as rules and closures see it.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    version: Version,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
    /// The source of the client's address.
    client_ip: &'a ClientIp,
    /// The cache for the address and the readings of the path. Without a cache, each call computes
    /// these values again.
    findings: Option<&'a Findings>,
}

/// The cached properties of one request. Each property is computed on first use and shared by all
/// rules.
///
/// `Findings` must not be reused for another request, because the cached values would be returned
/// for that request too.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The client's address, or `Some(None)` if the address has been found to be unknown.
    client_ip: Cell<Option<Option<IpAddr>>>,
    /// The readings of the path.
    readings: OnceCell<Readings>,
}

/// A search for the values of one cookie in the lines of a request's `Cookie` header. Its cost is
/// bounded, however many cookies and copies there are.
///
/// A semicolon always ends a cookie, and a comma never does (RFC 6265 section 4.2.1), so searching for
/// the name is sufficient. HTTP/2 may split the header into one line for each cookie (RFC 9113
/// section 8.2.3).
#[derive(Debug)]
pub(crate) struct CookieSearch {
    /// The number of bytes that may still be searched.
    bytes: usize,
    /// The number of occurrences of the name that may still be read.
    matches: usize,
}

impl CookieSearch {
    /// The maximum number of bytes that are searched in all lines of a request together. The cookie
    /// in which the search ends is ignored, because a token that is cut in two would count as
    /// forged.
    pub(crate) const MAX_BYTES: usize = 16 * 1024;
    /// The maximum number of occurrences of the name that are read in all lines of a request
    /// together, including those inside other names and values.
    pub(crate) const MAX_MATCHES: usize = 16;
    /// The maximum number of spaces before a cookie.
    const MAX_SPACES: usize = 16;

    /// Starts the search in a request.
    pub(crate) const fn new() -> Self {
        Self { bytes: Self::MAX_BYTES, matches: Self::MAX_MATCHES }
    }

    /// Calls `look` with each value of the cookie with this name in a line, until `look` breaks or a
    /// bound is reached. Spaces and quotation marks around a value are kept.
    pub(crate) fn line<'a>(
        &mut self,
        line: &'a [u8],
        name: &memmem::Finder<'_>,
        mut look: impl FnMut(&'a [u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut rest = self.clip(line);
        while let Some(at) = name.find(rest) {
            let Some(matches) = self.matches.checked_sub(1) else { return Break(()) };
            self.matches = matches;
            let (before, pair) = rest.split_at(at);
            let after = &pair[name.needle().len()..];
            let end = memchr(b';', after).unwrap_or(after.len());
            // The match may be the end of a longer name or a part of another cookie's value. After
            // the first match, `before` begins with the semicolon that ends the last cookie.
            if let [b'=', value @ ..] = &after[..end]
                && Self::ends_a_cookie(before)
            {
                look(value)?;
            }
            rest = &after[end..];
        }
        Continue(())
    }

    /// Returns whether a cookie begins after this text: at the start of a line or after a semicolon.
    fn ends_a_cookie(before: &[u8]) -> bool {
        let spaces = before
            .iter()
            .rev()
            .take(Self::MAX_SPACES)
            .take_while(|byte| byte.is_ascii_whitespace());
        matches!(before[..before.len() - spaces.count()], [] | [.., b';'])
    }

    /// Returns the part of a line that fits in the budget, truncated after the last whole cookie.
    fn clip<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        match line.split_at_checked(self.bytes) {
            Some((allowed, [_, ..])) => {
                self.bytes = 0;
                &allowed[..memrchr(b';', allowed).unwrap_or(0)]
            }
            _ => {
                self.bytes -= line.len();
                line
            }
        }
    }
}

/// A request extension with the address of the connection on which the request arrived.
///
/// Two other types serve the same purpose and take precedence:
///
/// - axum's `ConnectInfo<SocketAddr>`, with the `axum` feature, if the service was created with
///   `into_make_service_with_connect_info`
/// - tonic's `TcpConnectInfo`, with the `tonic` feature. tonic inserts this type with and without
///   its `tls_config`, but not for a `TlsStream` that the application creates itself.
///
/// Behind any other server, insert this type into each request:
///
/// ```
/// use std::net::SocketAddr;
/// use http::Request;
/// use tower_waiting_room::request::PeerAddr;
///
/// fn arrived<B>(mut request: Request<B>, peer: SocketAddr) -> Request<B> {
///     request.extensions_mut().insert(PeerAddr(peer));
///     request
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the address is the only content of this type")]
pub struct PeerAddr(pub SocketAddr);

impl<'a> RequestHead<'a> {
    /// Returns the method.
    #[must_use]
    pub const fn method(&self) -> &'a Method {
        self.method
    }

    /// Returns the target of the request, as this layer sees it. Inside axum's `nest`, the path
    /// does not include the nested prefix.
    #[must_use]
    pub const fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// Returns the HTTP version.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Returns the headers.
    #[must_use]
    pub const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// Returns the extensions that the server and the layers around this one have inserted.
    #[must_use]
    pub const fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// Returns the address of the client, as the layer's [`ClientIp`] derives it. The address is
    /// taken from a header only if a trusted proxy has written the header.
    ///
    /// An IPv4-mapped IPv6 address is returned as IPv4 (RFC 4291 section 2.5.5.2).
    ///
    /// Returns `None` if the server does not provide the address of the connection, as described
    /// for [`PeerAddr`]. If the head was created outside a layer, with [`From`], this method
    /// returns the address of the connection.
    ///
    /// ```
    /// use tower_waiting_room::{Key, Quota, RateLimit};
    ///
    /// // One limit for each client and tenant.
    /// let key = Key::from_fn("client and tenant", |head| {
    ///     let tenant = head.headers().get("x-tenant")?.to_str().ok()?;
    ///     Some(format!("{} {tenant}", head.client_ip()?))
    /// });
    /// let limit = RateLimit::new("tenant", Quota::per_minute(60), key);
    /// # let _ = limit;
    /// ```
    #[must_use]
    #[inline]
    pub fn client_ip(&self) -> Option<IpAddr> {
        if let Some(found) = self.findings.and_then(|kept| kept.client_ip.get()) {
            return found;
        }
        let found = self.client_ip.find(self.peer(), self.headers);
        if let Some(kept) = self.findings {
            kept.client_ip.set(Some(found));
        }
        found
    }

    /// Creates the head of `request`. `findings` must not belong to another request.
    pub(crate) fn new<B>(
        request: &'a http::Request<B>,
        client_ip: &'a ClientIp,
        findings: Option<&'a Findings>,
    ) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            extensions: request.extensions(),
            client_ip,
            findings,
        }
    }

    /// Calls `look` with the readings of the path, which are computed unless they are already
    /// cached. `path` is the path of this request.
    #[inline]
    pub(super) fn readings<T>(&self, path: &str, look: impl FnOnce(&Readings) -> T) -> T {
        match self.findings {
            Some(kept) => look(kept.readings.get_or_init(|| Readings::of(path))),
            None => look(&Readings::of(path)),
        }
    }

    /// Returns the network that identifies the client to limits: an IPv4 address, or an IPv6 prefix
    /// of the configured length.
    #[inline]
    pub(super) fn network(&self) -> Option<IpAddr> {
        Some(self.client_ip.network(self.client_ip()?))
    }

    /// Returns the network whose share of the room the client uses.
    ///
    /// Returns `None` if the address does not identify a client, because it is unknown, is a
    /// loopback address, or belongs to a proxy that is missing from the configuration. A share for
    /// this address would affect all clients at once. A private address that sends a forwarding
    /// header is assumed to belong to a proxy. From a public address, a forwarding header proves
    /// nothing, since the client may have written it.
    pub(crate) fn network_in_line(&self) -> Option<IpAddr> {
        let address = self.client_ip()?;
        let is_of_proxy = || self.suspect() == Some(Misconfiguration::ForwardedHeaderIgnored);
        if address.is_loopback() || is_private(address) && is_of_proxy() {
            return None;
        }
        Some(self.client_ip.network(address))
    }

    /// Returns the misconfiguration that the address or the forwarding headers of this request
    /// suggest. Limits call this method only for a sample of requests, since it looks up several
    /// headers.
    pub(crate) fn suspect(&self) -> Option<Misconfiguration> {
        self.client_ip.suspect(self.peer(), self.headers)
    }

    /// Returns the address of the connection, taken from the first type of extension that provides
    /// it.
    #[inline]
    fn peer(&self) -> Option<IpAddr> {
        let extensions = self.extensions;
        #[cfg(feature = "axum")]
        if let Some(info) = extensions.get::<axum::extract::ConnectInfo<SocketAddr>>() {
            return Some(info.0.ip());
        }
        #[cfg(feature = "tonic")]
        if let Some(info) = extensions.get::<tonic::transport::server::TcpConnectInfo>()
            && let Some(peer) = info.remote_addr
        {
            return Some(peer.ip());
        }
        extensions.get::<PeerAddr>().map(|peer| peer.0.ip())
    }

    /// Returns whether the script of the waiting page sent the request. A request has few headers, so
    /// comparing all of their names costs less than computing the hash of one name.
    pub(crate) fn is_poll(&self) -> bool {
        self.headers.keys().any(|name| *name == POLL_HEADER)
    }

    /// Returns whether the request is a CORS preflight, with which a browser asks whether a script
    /// from another origin may send a request (Fetch standard, "CORS-preflight request").
    pub(crate) fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
            && self.headers.contains_key(ORIGIN)
            && self.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }
}

/// Creates the head of a request outside a layer. The address of the client is that of the
/// connection, and nothing is cached.
impl<'a, B> From<&'a http::Request<B>> for RequestHead<'a> {
    fn from(request: &'a http::Request<B>) -> Self {
        static DIRECT: ClientIp = ClientIp::peer();
        Self::new(request, &DIRECT, None)
    }
}

impl fmt::Debug for RequestHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", &self.method)
            .field("uri", &self.uri)
            .field("version", &self.version)
            .field("headers", &self.headers)
            .field("extensions", &self.extensions)
            .finish_non_exhaustive()
    }
}

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

/// Returns whether an address is not routed on the Internet: private (RFC 1918, RFC 4193),
/// link-local (RFC 3927, RFC 4291 section 2.5.6) or shared by the customers of a carrier (RFC
/// 6598).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            // The range 100.64.0.0/10 is checked manually, because `Ipv4Addr::is_shared` is not
            // stable.
            let is_carriers = first == 100 && second & 0xc0 == 64;
            address.is_private() || address.is_link_local() || is_carriers
        }
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preflight_is_options_with_both_headers() {
        let is_preflight = |method, names: &[&'static str]| {
            let mut request = http::Request::new(());
            *request.method_mut() = method;
            for name in names {
                request.headers_mut().insert(*name, http::HeaderValue::from_static("PUT"));
            }
            RequestHead::from(&request).is_preflight()
        };
        let both = ["origin", "access-control-request-method"];
        assert!(is_preflight(Method::OPTIONS, &both));
        assert!(!is_preflight(Method::GET, &both));
        assert!(!is_preflight(Method::OPTIONS, &both[..1]));
        assert!(!is_preflight(Method::OPTIONS, &both[1..]));
    }
}
