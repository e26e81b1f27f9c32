//! Requests that concern no stage of the layer.
//!
//! A bypassed request is neither counted nor queued, meets no rate limit and no gate, gets no cookie,
//! and is unaffected by `queue_all`. What a rule covers, any client can send: a path, a header or a
//! cookie that must not open the room to everybody has to be a secret. A CORS preflight is not
//! bypassed by itself: it skips the room, and rate limits and gates apply to it; `Preflight` of the
//! configuration says otherwise.

use std::{borrow::Cow, fmt, sync::Arc};

use http::Method;
use waiting_room_core::ConfigError;

use super::{
    head::RequestHead,
    matcher::{Doubt, Matcher, validate_name},
    path_rule::PathRule,
};

/// A rule for requests that do not concern the room; its name is shown as `bypass:<name>`.
///
/// They meet no rate limit and no gate either. Nothing else is exempt from those, unless
/// [`Preflight::Bypass`](crate::Preflight::Bypass) is set: a CORS preflight skips the room alone, and
/// a room that is [suspended](crate::WaitingRoomHandle::suspend) lets everybody in, but the limits
/// stay in force.
///
/// ```
/// use tower_waiting_room::{Bypass, WaitingRoomConfig};
///
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .bypass(Bypass::path("health", "/healthz"))
///     .bypass(Bypass::path_prefix("assets", "/assets/"))
///     .bypass(Bypass::header("probe", "x-probe", "a secret of ours"))
///     .build()?;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Bypass {
    name: Cow<'static, str>,
    matcher: Matcher,
}

impl Bypass {
    /// Requests that carry a cookie of this name, whatever its value.
    #[must_use]
    pub fn cookie(name: impl Into<Cow<'static, str>>, cookie: impl Into<String>) -> Self {
        Self::new(name, Matcher::Cookie(cookie.into()))
    }

    /// Requests that carry this header, with exactly this value if one is given.
    #[must_use]
    pub fn header<'a>(
        name: impl Into<Cow<'static, str>>,
        header: impl Into<String>,
        value: impl Into<Option<&'a str>>,
    ) -> Self {
        Self::new(name, Matcher::Header(header.into(), value.into().map(str::to_owned)))
    }

    /// Requests for this host, without its port and in whichever case, such as `status.example`: as
    /// the target names it (`:authority` in HTTP/2) and the `Host` header. Where both are there and
    /// differ, the request is not covered.
    ///
    /// Clients choose what they send. Where one application answers for several hosts, or does not
    /// look at the host, any client may name this one.
    #[must_use]
    pub fn host(name: impl Into<Cow<'static, str>>, host: impl Into<String>) -> Self {
        Self::new(name, Matcher::Host(host.into()))
    }

    /// Requests of this method. `GET` stands for `HEAD` too.
    #[must_use]
    pub fn method(name: impl Into<Cow<'static, str>>, method: Method) -> Self {
        Self::new(name, Matcher::Method(method))
    }

    /// Requests from this address, or from an address in this network, such as `203.0.113.0/24`: the
    /// client's, as [`ClientIp`](crate::ClientIp) tells it. Where the address of the connection is
    /// unknown, none is covered, and [`Misconfiguration::PeerUnknown`](crate::Misconfiguration::PeerUnknown)
    /// is reported.
    ///
    /// ```
    /// use tower_waiting_room::{Bypass, ClientIp, TrustedProxies, WaitingRoomConfig};
    ///
    /// let config = WaitingRoomConfig::builder("shop")
    ///     .total_active_users(200)
    ///     .client_ip(ClientIp::x_forwarded_for(TrustedProxies::networks(["10.0.0.0/8"])?))
    ///     .bypass(Bypass::network("office", "203.0.113.0/24"))
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    #[must_use]
    pub fn network(name: impl Into<Cow<'static, str>>, network: impl Into<String>) -> Self {
        Self::new(name, Matcher::network(network.into()))
    }

    /// Requests for exactly this path, as this layer sees it: inside of axum's `nest`, without the
    /// prefix. With a slash at its end it is another path, which takes a rule of its own.
    #[must_use]
    pub fn path(name: impl Into<Cow<'static, str>>, path: impl Into<String>) -> Self {
        Self::new(name, Matcher::Path(PathRule::exact(path.into())))
    }

    /// Requests for a path that begins so. `/assets/` covers `/assets/a.css`, not `/assets`.
    ///
    /// A path that some reader may take for another is not covered, such as `/assets/../checkout`:
    /// one with dot segments, with or without parameters (`..;a`), with backslashes, with escapes
    /// that are broken or stand for a delimiter, a control character or `%`, or with more than
    /// 8 KiB. With `;`, `//` or a segment that begins with a dot it may have 256 bytes and 16 of
    /// these and escapes.
    #[must_use]
    pub fn path_prefix(name: impl Into<Cow<'static, str>>, prefix: impl Into<String>) -> Self {
        Self::new(name, Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Requests for which the closure says so. It must be quick: it sees every request.
    #[must_use]
    pub fn when(
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Matcher::When(Arc::new(test)))
    }

    fn new(name: impl Into<Cow<'static, str>>, matcher: Matcher) -> Self {
        Self { name: name.into(), matcher }
    }

    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    /// Whether it is about the address of the client.
    pub(crate) fn needs_address(&self) -> bool {
        matches!(self.matcher, Matcher::Network(..))
    }

    pub(crate) fn covers(&self, head: &RequestHead<'_>) -> bool {
        self.matcher.covers(head, Doubt::Exempt)
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        validate_name("bypass", &self.name)?;
        self.matcher.validate("bypass", &self.name)
    }
}

impl fmt::Debug for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bypass").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::request::PeerAddr;

    #[track_caller]
    fn covers(rule: &Bypass, request: http::request::Builder) -> bool {
        rule.validate().unwrap();
        rule.covers(&RequestHead::from(&request.body(()).unwrap()))
    }

    #[test]
    fn each_rule_covers_what_it_says_and_nothing_else() {
        let get = |path: &str| Request::get(path);
        let path = Bypass::path("health", "/healthz");
        assert!(covers(&path, get("/healthz?x=1")));
        assert!(!covers(&path, get("/healthz/deep")));
        let prefix = Bypass::path_prefix("assets", "/assets/");
        assert!(covers(&prefix, get("/assets/a.css")));
        assert!(!covers(&prefix, get("/assets")));
        for sly in [
            "..",
            ".",
            "%2E%2e",
            "..%2f",
            "..%5C",
            "a/.%2e",
            "%252e%252e%252f",
            "a%25b",
            "..;",
            "..;a=b",
            ".%3b",
            "%2e%2e%3B",
            "..%3f",
            "..%23",
            "..%00",
            "%u002e%u002e",
            "a\\..",
        ] {
            assert!(!covers(&prefix, get(&format!("/assets/{sly}/checkout"))), "{sly}");
        }
        for clear in ["a..b/.well-known", "a%20b%C3%a4.css", "a.css;v=1", "...", "%2ea", ""] {
            assert!(covers(&prefix, get(&format!("/assets/{clear}"))), "{clear}");
        }
        for other in ["/healthz/", "/healthz//", "/healthz;a", "/healthz/.", "/Healthz"] {
            assert!(!covers(&path, get(other)), "{other}");
        }
        let method = Bypass::method("trace", Method::TRACE);
        assert!(!covers(&method, get("/")));
        let header = Bypass::header("probe", "x-probe", "1");
        assert!(covers(&header, get("/").header("X-Probe", "1")));
        assert!(!covers(&header, get("/").header("X-Probe", "2")));
        let cookie = Bypass::cookie("staff", "staff");
        assert!(covers(&cookie, get("/").header("cookie", "a=b; staff=1")));
        assert!(!covers(&cookie, get("/").header("cookie", "nostaff=1; staff2=1")));
        let host = Bypass::host("status", "Status.example");
        for named in ["status.example", "STATUS.example:8080"] {
            assert!(covers(&host, get("/").header("host", named)), "{named}");
            let target = get(&format!("http://{named}/"));
            assert!(covers(&host, target), "{named}");
        }
        for other in ["shop.example", "x.status.example", "status.example.", "status.example:x"] {
            assert!(!covers(&host, get("/").header("host", other)), "{other}");
            let target = || get("http://status.example/");
            assert!(!covers(&host, target().header("host", other)), "{other}");
        }
        let twice = get("/").header("host", "status.example").header("host", "shop.example");
        assert!(!covers(&host, twice) && !covers(&host, get("/")));
        let literal = Bypass::host("literal", "[2001:db8::1]");
        assert!(covers(&literal, get("/").header("host", "[2001:db8::1]:80")));
        let network = Bypass::network("office", "203.0.113.0/24");
        let from = |address: &str| {
            let peer = std::net::SocketAddr::new(address.parse().unwrap(), 40_000);
            get("/").extension(PeerAddr(peer))
        };
        assert!(covers(&network, from("203.0.113.7")));
        assert!(covers(&network, from("::ffff:203.0.113.7")));
        assert!(!covers(&network, from("203.0.114.7")));
        assert!(!covers(&network, from("203.0.114.7").header("x-forwarded-for", "203.0.113.7")));
        assert!(!covers(&network, get("/")));
        let single = Bypass::network("probe", "2001:db8::7");
        assert!(covers(&single, from("2001:db8::7")) && !covers(&single, from("2001:db8::8")));
        let when = Bypass::when("query", |head| head.uri().query().is_some());
        assert!(covers(&when, get("/?")));
        assert!(!covers(&when, get("/")));
    }

    #[test]
    fn a_rule_that_cannot_be_meant_is_refused() {
        for (rule, message) in [
            (
                Bypass::path("health", "healthz"),
                "bypass is \"healthz\" in the rule \"health\", expected a path that begins with '/'",
            ),
            (
                Bypass::header("probe", "x probe", None),
                "bypass is \"x probe\" in the rule \"probe\", expected the name of a header",
            ),
            (
                Bypass::host("status", "status.example:80"),
                "bypass is \"status.example:80\" in the rule \"status\", expected the name of a host, \
                 without a port",
            ),
            (
                Bypass::network("office", "203.0.113.0/33"),
                "bypass is \"203.0.113.0/33\" in the rule \"office\", expected an address or a \
                 network, such as 203.0.113.0/24",
            ),
            (
                Bypass::cookie("", "x"),
                "bypass is \"\" in the rule \"\", expected a name of printable ASCII characters \
                 without spaces",
            ),
        ] {
            assert_eq!(rule.validate().unwrap_err().to_string(), message);
        }
    }
}
