//! A request as rules see it.

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

/// What a rule may look at: a request without its body.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    version: Version,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
    /// The rules by which the address of the client is read.
    client_ip: &'a ClientIp,
    /// Where what is found out is kept for the next rule that asks; without it, each rule finds it
    /// out anew.
    findings: Option<&'a Findings>,
}

/// What is found out about a request once, for all rules that ask.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    client_ip: OnceCell<Option<IpAddr>>,
    /// In a box: few requests need them, and all carry this.
    readings: OnceCell<Box<Readings>>,
}

/// The address of the connection that a request came by, in its extensions.
///
/// axum's `ConnectInfo<SocketAddr>` serves as well, if the feature `axum` is on and the service was
/// made with `into_make_service_with_connect_info`; and so does tonic's `TcpConnectInfo`, if the
/// feature `tonic` is on: tonic puts it there itself, with and without its `tls_config`, but not for a
/// `TlsStream` of the application's own. Other servers put this in, with one line for each request:
///
/// ```
/// use std::net::SocketAddr;
/// use http::Request;
/// use tower_waiting_room::PeerAddr;
///
/// fn arrived<B>(mut request: Request<B>, peer: SocketAddr) -> Request<B> {
///     request.extensions_mut().insert(PeerAddr(peer));
///     request
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an address is all there is to it")]
pub struct PeerAddr(pub SocketAddr);

impl<'a> RequestHead<'a> {
    /// The method.
    #[must_use]
    pub const fn method(&self) -> &'a Method {
        self.method
    }

    /// The target.
    #[must_use]
    pub const fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// The version of HTTP.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The headers.
    #[must_use]
    pub const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What the services before this one have attached.
    #[must_use]
    pub const fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// The address of the client, read by the rules of the layer ([`ClientIp`]): never from a header
    /// that no trusted proxy has written. An IPv4 address that is written as an IPv6 one is given as
    /// IPv4 (RFC 4291 section 2.5.5.2).
    ///
    /// `None` if the server does not tell the address of the connection: see [`PeerAddr`]. The head
    /// that [`From`] makes of a request outside of a layer has the address of the connection.
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

    /// Looks at the readings of the path.
    pub(super) fn readings<T>(&self, look: impl FnOnce(&Readings) -> T) -> T {
        let path = self.uri.path();
        match self.findings {
            Some(kept) => look(kept.readings.get_or_init(|| Box::new(Readings::of(path)))),
            None => look(&Readings::of(path)),
        }
    }

    /// The network that stands for the client, by the rules of the layer.
    pub(super) fn network(&self) -> Option<IpAddr> {
        Some(self.client_ip.network(self.client_ip()?))
    }

    /// The network whose share of the line the client has a part in.
    ///
    /// `None` where the address stands for no client in particular: it is not known, it is this machine's
    /// own, or that of a proxy that the layer has not been told of. Such a proxy has a private address and
    /// sends a header of proxies; with any other address, a client may have written that itself.
    pub(crate) fn network_in_line(&self) -> Option<IpAddr> {
        let address = self.client_ip()?;
        let is_of_proxy = || self.suspect() == Some(Misconfiguration::ForwardedHeaderIgnored);
        if address.is_loopback() || is_private(address) && is_of_proxy() {
            return None;
        }
        Some(self.client_ip.network(address))
    }

    /// What looks wrong about the way in which the request came. Meant for a sample of them.
    pub(crate) fn suspect(&self) -> Option<Misconfiguration> {
        self.client_ip.suspect(self.peer(), self.headers)
    }

    /// The address of the connection.
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

    /// Whether a browser asks if a script of another origin may send a request (CORS preflight).
    pub(crate) fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
            && self.headers.contains_key(ORIGIN)
            && self.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }
}

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

/// Whether an address is of a network that is not a part of the Internet: RFC 1918, RFC 6598, RFC 3927
/// and RFC 4193.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_carriers = first == 100 && second & 0xc0 == 64;
            address.is_private() || address.is_link_local() || is_carriers
        }
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    }
}

/// Whether there is more to come of a body that the layer can read: axum's.
#[cfg(feature = "axum")]
pub(crate) fn has_unread_body<B: 'static>(body: &B) -> bool {
    let body = (body as &dyn Any).downcast_ref::<axum::body::Body>();
    body.is_some_and(|body| !body.is_end_stream())
}

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
