//! The head of a request, as rules and closures see it, with the address of its client.
//!
//! Some properties are expensive to compute and needed by several rules: the client's address,
//! which may stand at the end of a chain of proxies, and the readings of the path. [`Findings`]
//! keeps both beside the request, so that each is computed at most once, and only if a rule needs
//! it.

#[cfg(feature = "axum")]
use std::any::Any;
use std::{
    cell::OnceCell,
    fmt,
    net::{IpAddr, SocketAddr},
};

use http::{
    Extensions, HeaderMap, Method, Uri, Version,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};

#[cfg(feature = "axum")]
use http_body::Body as _;

use super::{client_ip::ClientIp, path::Readings};
use crate::misconfiguration::Misconfiguration;

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
    /// The cache for the address and the readings of the path. Without it, each call computes them
    /// again.
    findings: Option<&'a Findings>,
}

/// The cached properties of one request. Each is computed on first use and shared by all rules.
///
/// A value must not outlive its request: it would be returned for the next one as well.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The client's address; `Some(None)` once it is known that the address is unknown.
    client_ip: OnceCell<Option<IpAddr>>,
    /// Boxed, because every request carries this struct and few need the readings.
    readings: OnceCell<Box<Readings>>,
}

/// The address of the connection that a request arrived on, in the extensions of the request.
///
/// Two other types serve the same purpose and take precedence:
///
/// - axum's `ConnectInfo<SocketAddr>`, with the feature `axum`, if the service was made with
///   `into_make_service_with_connect_info`
/// - tonic's `TcpConnectInfo`, with the feature `tonic`. tonic inserts it with and without its
///   `tls_config`, but not for a `TlsStream` that the application makes itself.
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
#[expect(clippy::exhaustive_structs, reason = "the address is its only content")]
pub struct PeerAddr(pub SocketAddr);

impl<'a> RequestHead<'a> {
    /// Returns the method.
    #[must_use]
    pub const fn method(&self) -> &'a Method {
        self.method
    }

    /// Returns the target of the request, as this layer sees it: inside axum's `nest`, without the
    /// prefix.
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

    /// Returns the address of the client, as the layer's [`ClientIp`] derives it. It never comes
    /// from a header that was not written by a trusted proxy.
    ///
    /// An IPv4-mapped IPv6 address is returned as IPv4 (RFC 4291 section 2.5.5.2).
    ///
    /// Returns `None` if the server does not provide the address of the connection: see
    /// [`PeerAddr`]. A head that was made outside a layer with [`From`] returns the address of the
    /// connection.
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
    pub fn client_ip(&self) -> Option<IpAddr> {
        let find = || self.client_ip.find(self.peer(), self.headers);
        match self.findings {
            Some(kept) => *kept.client_ip.get_or_init(find),
            None => find(),
        }
    }

    /// Creates the head of `request`. `findings` must not be those of another request.
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

    /// Calls `look` with the readings of the path, which are computed if they are not cached yet.
    pub(super) fn readings<T>(&self, look: impl FnOnce(&Readings) -> T) -> T {
        let path = self.uri.path();
        match self.findings {
            Some(kept) => look(kept.readings.get_or_init(|| Box::new(Readings::of(path)))),
            None => look(&Readings::of(path)),
        }
    }

    /// Returns the network that identifies the client to limits: an IPv4 address, or an IPv6 prefix
    /// of the configured length.
    pub(super) fn network(&self) -> Option<IpAddr> {
        Some(self.client_ip.network(self.client_ip()?))
    }

    /// Returns the network whose quota of places the client uses.
    ///
    /// Returns `None` if the address stands for no client in particular, so that a quota would hit
    /// all clients at once: the address is unknown, is a loopback address, or belongs to a proxy
    /// that is not configured. The latter is assumed for a private address that sends a forwarding
    /// header. From a public address the header proves nothing, since the client may have written
    /// it.
    #[cfg(feature = "room")]
    pub(crate) fn network_in_line(&self) -> Option<IpAddr> {
        let address = self.client_ip()?;
        let is_of_proxy = || self.suspect() == Some(Misconfiguration::ForwardedHeaderIgnored);
        if address.is_loopback() || is_private(address) && is_of_proxy() {
            return None;
        }
        Some(self.client_ip.network(address))
    }

    /// Returns the misconfiguration that the address or the forwarding headers of this request
    /// suggest. Limits call it for a sample of requests only, since it looks up several headers.
    pub(crate) fn suspect(&self) -> Option<Misconfiguration> {
        self.client_ip.suspect(self.peer(), self.headers)
    }

    /// Returns the address of the connection, from the first type of extension that provides it.
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

    /// Returns whether this is a CORS preflight, with which a browser asks whether a script of
    /// another origin may send a request (Fetch standard, "CORS-preflight request").
    pub(crate) fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
            && self.headers.contains_key(ORIGIN)
            && self.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }
}

/// The head of a request outside a layer, whose client is the peer and which caches nothing.
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

/// Returns whether an address is not routed on the Internet: private (RFC 1918, RFC 4193),
/// link-local (RFC 3927, RFC 4291 section 2.5.6) or shared by the customers of a carrier (RFC
/// 6598).
#[cfg(feature = "room")]
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            // 100.64.0.0/10; `Ipv4Addr::is_shared` is not stable.
            let is_carriers = first == 100 && second & 0xc0 == 64;
            address.is_private() || address.is_link_local() || is_carriers
        }
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    }
}

/// Returns whether a body that the layer can read, that is axum's, has not ended.
#[cfg(feature = "axum")]
pub(crate) fn has_unread_body<B: 'static>(body: &B) -> bool {
    let body = (body as &dyn Any).downcast_ref::<axum::body::Body>();
    body.is_some_and(|body| !body.is_end_stream())
}

/// Returns false: without the feature `axum` the layer can read no body.
#[cfg(not(feature = "axum"))]
pub(crate) const fn has_unread_body<B>(_body: &B) -> bool {
    false
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
