//! Rules for requests that skip every stage of the layer.
//!
//! A bypassed request is neither counted nor queued. No rate limit or gate applies to a bypassed
//! request, its response sets no cookie, and a room that queues all newcomers does not affect it.
//!
//! Clients choose their paths, headers and cookies, so any client can send a request that a rule
//! covers. A rule that is not meant to open the room to all clients must contain a secret, or match
//! the address of the client.
//!
//! A rule exempts a request only if the request matches beyond doubt. A request is not bypassed if
//! a server behind the layer may interpret its path as a different path, or if it names two hosts.
//!
//! By default, CORS preflights are not bypassed but skip only the room. The `Preflight` option in
//! the configuration changes this default.

use std::{borrow::Cow, fmt, sync::Arc};

use http::Method;
use waiting_room_core::ConfigError;

use super::{
    head::RequestHead,
    matcher::{Doubt, Matcher, validate_name},
    path_rule::PathRule,
};

/// A rule for requests that skip the room, the rate limits and the gates. Bypassed requests are
/// reported with the reason `bypass:<name>`.
///
/// No other request is exempt from limits and gates, unless
/// [`Preflight::Bypass`](crate::config::Preflight::Bypass) is set. In particular, a CORS preflight
/// skips only the room by default, and the limits stay in effect while a room is
/// [suspended](crate::handle::RoomHandle::suspend).
///
/// ```
/// use tower_waiting_room::{WaitingRoomConfig, request::Bypass};
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
    /// Covers requests with a cookie of this name, whatever its value.
    ///
    /// Clients choose their cookies, so the name must be a secret if only some clients may skip the
    /// room.
    #[must_use]
    pub fn cookie(name: impl Into<Cow<'static, str>>, cookie: impl Into<String>) -> Self {
        Self::new(name, Matcher::Cookie(cookie.into()))
    }

    /// Covers requests with this header and, if a value is given, with exactly this value in at
    /// least one line of the header.
    #[must_use]
    pub fn header<'a>(
        name: impl Into<Cow<'static, str>>,
        header: impl Into<String>,
        value: impl Into<Option<&'a str>>,
    ) -> Self {
        Self::new(name, Matcher::Header(header.into(), value.into().map(str::to_owned)))
    }

    /// Covers requests for this host, such as `status.example`, regardless of port and letter case.
    ///
    /// The host is read from the target (`:authority` in HTTP/2) and from the `Host` header. A
    /// request whose target and `Host` header name different hosts is not covered.
    ///
    /// Clients can name any host in a request. If one application serves several hosts, or does not
    /// check the host, any client can use this rule to bypass the layer for the whole application.
    #[must_use]
    pub fn host(name: impl Into<Cow<'static, str>>, host: impl Into<String>) -> Self {
        Self::new(name, Matcher::Host(host.into()))
    }

    /// Covers requests with this method. A rule for `GET` also covers `HEAD`.
    #[must_use]
    pub fn method(name: impl Into<Cow<'static, str>>, method: Method) -> Self {
        Self::new(name, Matcher::Method(method))
    }

    /// Covers requests from clients with this address, or with an address in this network, such as
    /// `203.0.113.0/24`.
    ///
    /// The address of a client is derived by [`ClientIp`](crate::ClientIp). If the address of the
    /// connection is unknown, no request is covered, and
    /// [`Misconfiguration::PeerUnknown`](crate::config::Misconfiguration::PeerUnknown) is reported.
    ///
    /// ```
    /// use tower_waiting_room::{ClientIp, TrustedProxies, WaitingRoomConfig, request::Bypass};
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

    /// Covers requests for exactly this path, as this layer sees it. Inside axum's `nest`, the path
    /// does not include the nested prefix. The same path with a trailing slash is a different path,
    /// and needs a separate rule.
    #[must_use]
    pub fn path(name: impl Into<Cow<'static, str>>, path: impl Into<String>) -> Self {
        Self::new(name, Matcher::Path(PathRule::exact(path.into())))
    }

    /// Covers requests for paths that begin with `prefix`. `/assets/` covers `/assets/a.css`, but
    /// not `/assets`.
    ///
    /// Some servers behind the layer resolve `/assets/../checkout` to `/checkout`. A path that a
    /// server may interpret as a different path is therefore not covered:
    ///
    /// - a path with dot segments, with or without parameters (`..;a`), or with backslashes
    /// - a path with percent-escapes that are broken or encode a delimiter, a control character or
    ///   `%`
    /// - a path longer than 8 KiB
    /// - a path with `;`, `//`, an escaped dot or a segment that begins with a dot, if the path is
    ///   longer than 256 bytes or contains more than 16 of these sequences and other escapes in
    ///   total
    #[must_use]
    pub fn path_prefix(name: impl Into<Cow<'static, str>>, prefix: impl Into<String>) -> Self {
        Self::new(name, Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Covers requests for which `test` returns true. The closure runs for every request that no
    /// earlier rule covers, so it must be fast.
    #[must_use]
    pub fn when(
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Matcher::When(Arc::new(test)))
    }

    /// Covers the requests that this rule and `other` both cover, under the name of this rule.
    ///
    /// ```
    /// use tower_waiting_room::request::Bypass;
    ///
    /// // The administration is open to the office only.
    /// let rule = Bypass::path_prefix("admin", "/admin/")
    ///     .and(Bypass::network("office", "203.0.113.0/24"));
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let parts = |matcher| {
            if let Matcher::All(all) = matcher { all } else { vec![matcher] }
        };
        let mut all = parts(self.matcher);
        all.extend(parts(other.matcher));
        Self { name: self.name, matcher: Matcher::All(all) }
    }

    fn new(name: impl Into<Cow<'static, str>>, matcher: Matcher) -> Self {
        Self { name: name.into(), matcher }
    }

    /// Returns the name of the rule, which is reported in the reason `bypass:<name>`.
    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    /// Returns whether the rule needs the address of the client.
    pub(crate) fn needs_address(&self) -> bool {
        self.matcher.needs_address()
    }

    /// Returns whether the request is exempt. An ambiguous request is not exempt, as described for
    /// [`Doubt::Exempt`].
    pub(crate) fn covers(&self, head: &RequestHead<'_>) -> bool {
        self.matcher.covers(head, Doubt::Exempt)
    }

    /// Checks the name and the matcher.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not printable ASCII without spaces, or if no request can
    /// match.
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
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn each_rule_covers_its_own_requests_only() {
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
    fn a_rule_with_several_tests_requires_all_of_them() {
        let rule = Bypass::path_prefix("admin", "/admin/")
            .and(Bypass::network("office", "203.0.113.0/24"))
            .and(Bypass::header("probe", "x-probe", "1").and(Bypass::host("host", "shop.example")));
        assert_eq!(rule.name(), "admin");
        assert!(rule.needs_address());
        let whole = |path: &str, address: &str, probe: &str, host: &str| {
            let peer = std::net::SocketAddr::new(address.parse().unwrap(), 40_000);
            let request = Request::get(path).extension(PeerAddr(peer));
            covers(&rule, request.header("x-probe", probe).header("host", host))
        };
        assert!(whole("/admin/x", "203.0.113.7", "1", "shop.example"));
        assert!(!whole("/x", "203.0.113.7", "1", "shop.example"));
        assert!(!whole("/admin/x", "203.0.114.7", "1", "shop.example"));
        assert!(!whole("/admin/x", "203.0.113.7", "2", "shop.example"));
        assert!(!whole("/admin/x", "203.0.113.7", "1", "other.example"));
        // A combined rule does not exempt a path that a server may read as another path.
        assert!(!whole("/admin/../checkout", "203.0.113.7", "1", "shop.example"));
        let wrong = Bypass::path("admin", "/a").and(Bypass::network("office", "x"));
        assert!(wrong.validate().unwrap_err().to_string().contains("in the rule \"admin\""));
    }

    #[test]
    fn a_meaningless_rule_is_refused() {
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
                Bypass::header("probe", "x-probe", "secret "),
                "bypass is \"secret \" in the rule \"probe\", expected the value of a header",
            ),
            (
                Bypass::cookie("staff", "a; b"),
                "bypass is \"a; b\" in the rule \"staff\", expected the name of a cookie",
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
