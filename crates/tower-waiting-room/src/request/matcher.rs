//! Matchers: tests that decide whether a rule covers a request.
//!
//! Two kinds of rules use the same matchers, but treat ambiguous requests in opposite ways. A limit
//! or a gate restricts requests, so a client must not be able to escape it with an unusual spelling
//! of a path or a host. A bypass or a tier exempts or favors requests, so a client must not be able
//! to gain from an unusual spelling:
//!
//! ```text
//!                                       path or host with one reading   with several readings
//!  Doubt::Covered  limit, gate          covered if it matches           covered if any matches
//!  Doubt::Exempt   bypass, tier         covered if it matches           covered only if all match
//! ```
//!
//! A matcher sees only the head of a request, never its body.

use std::{fmt, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, uri::Authority};
use ipnet::IpNet;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{
    client_ip::network, head::RequestHead, key::cookie, path::Readings, path_rule::PathRule,
};

/// A test of a request's head. Names are validated at start-up by [`Matcher::validate`].
#[derive(Clone)]
pub(crate) enum Matcher {
    /// All of these matchers match the request.
    All(Vec<Matcher>),
    /// The request has a cookie with this name.
    Cookie(String),
    /// The request has this header and, if a value is given, a line with exactly this value.
    Header(String, Option<String>),
    /// The request names exactly this host, regardless of port and letter case.
    Host(String),
    /// The request has this method. GET also matches a HEAD request.
    Method(Method),
    /// The client's address is in this network. The network is `None` if the string could not be
    /// parsed as a network; validation then rejects the rule.
    Network(String, Option<IpNet>),
    /// The path of the request is covered by this rule.
    Path(PathRule),
    /// The closure returns true for the request.
    When(Arc<dyn Fn(&RequestHead<'_>) -> bool + Send + Sync>),
}

/// The treatment of ambiguous requests. A request is ambiguous if servers may interpret its path in
/// different ways, as with `/assets/../checkout`, or if its target and its `Host` header name
/// different hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// An ambiguous request is covered if any reading matches. Limits and gates, which restrict
    /// requests, use this treatment.
    Covered,
    /// An ambiguous request is not covered. Bypass rules, tiers and exceptions, which exempt or
    /// favor requests, use this treatment.
    Exempt,
}

impl Matcher {
    /// Creates a matcher for a network in CIDR notation, or for a single address.
    pub(crate) fn network(text: String) -> Self {
        let network = network(&text).ok();
        Self::Network(text, network)
    }

    /// Returns whether the matcher needs the address of the client.
    pub(crate) fn needs_address(&self) -> bool {
        match self {
            Self::All(all) => all.iter().any(Self::needs_address),
            Self::Network(..) => true,
            Self::Cookie(_)
            | Self::Header(..)
            | Self::Host(_)
            | Self::Method(_)
            | Self::Path(_)
            | Self::When(_) => false,
        }
    }

    /// Returns whether the request matches. `doubt` determines how ambiguous paths and hosts are
    /// treated.
    #[inline]
    pub(crate) fn covers(&self, head: &RequestHead<'_>, doubt: Doubt) -> bool {
        // Most scopes are paths, and most requests are for a different path. An inlined comparison
        // detects this in a few instructions.
        if let Self::Path(rule) = self {
            return is_for(head, rule, doubt);
        }
        self.covers_elsewhere(head, doubt)
    }

    /// Does the same as [`covers`](Self::covers), but is not inlined.
    fn covers_elsewhere(&self, head: &RequestHead<'_>, doubt: Doubt) -> bool {
        match self {
            Self::All(all) => all.iter().all(|matcher| matcher.covers(head, doubt)),
            Self::Cookie(name) => cookie(head, name).is_some(),
            Self::Header(header, None) => head.headers().contains_key(header.as_str()),
            Self::Header(header, Some(value)) => {
                head.headers().get_all(header.as_str()).iter().any(|other| other == value)
            }
            Self::Host(host) => names_host(head, host, doubt),
            Self::Method(method) => is_method(head.method(), method),
            // A request from an unknown address matches no network.
            Self::Network(_, network) => network.is_some_and(|network| {
                head.client_ip().is_some_and(|address| network.contains(&address))
            }),
            Self::Path(rule) => is_for(head, rule, doubt),
            Self::When(test) => test(head),
        }
    }

    /// Checks that this matcher can match any request at all. Error messages contain `field` and
    /// `rule`.
    ///
    /// # Errors
    ///
    /// Returns an error if the name of a header, cookie or host, the value of a header, a network
    /// or a path is malformed.
    pub(crate) fn validate(&self, field: &'static str, rule: &str) -> Result<(), ConfigError> {
        let wrong = |given: &str, expected: &str| {
            let given = format!("{given:?} in the rule {rule:?}");
            Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, expected))
        };
        match self {
            Self::All(all) => all.iter().try_for_each(|matcher| matcher.validate(field, rule)),
            Self::Header(header, _) if HeaderName::try_from(header.as_str()).is_err() => {
                wrong(header, "the name of a header")
            }
            Self::Header(_, Some(value)) if !is_field(value) => {
                wrong(value, "the value of a header")
            }
            Self::Host(host) if !is_host(host) => wrong(host, "the name of a host, without a port"),
            Self::Network(text, None) => {
                wrong(text, "an address or a network, such as 203.0.113.0/24")
            }
            Self::Path(rule) if !rule.text().starts_with('/') => {
                wrong(rule.text(), "a path that begins with '/'")
            }
            Self::Cookie(cookie)
                if cookie.is_empty() || cookie.contains(';') || !is_field(cookie) =>
            {
                wrong(cookie, "the name of a cookie")
            }
            Self::Cookie(_)
            | Self::Header(..)
            | Self::Host(_)
            | Self::Method(_)
            | Self::Network(..)
            | Self::Path(_)
            | Self::When(_) => Ok(()),
        }
    }
}

impl PartialEq for Matcher {
    /// Compares matchers as they were configured. Closures are equal only if they are clones of the
    /// same closure.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All(a), Self::All(b)) => a == b,
            (Self::Cookie(a), Self::Cookie(b)) | (Self::Host(a), Self::Host(b)) => a == b,
            (Self::Path(a), Self::Path(b)) => a == b,
            (Self::Header(a, x), Self::Header(b, y)) => (a, x) == (b, y),
            (Self::Method(a), Self::Method(b)) => a == b,
            (Self::Network(a, x), Self::Network(b, y)) => (a, x) == (b, y),
            (Self::When(a), Self::When(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(all) => f.debug_list().entries(all).finish(),
            Self::Cookie(cookie) => write!(f, "cookie {cookie}"),
            Self::Header(header, None) => write!(f, "header {header}"),
            Self::Header(header, Some(value)) => write!(f, "header {header}: {value}"),
            Self::Host(host) => write!(f, "host {host}"),
            Self::Method(method) => write!(f, "method {method}"),
            Self::Network(text, _) => write!(f, "network {text}"),
            Self::Path(rule) if rule.is_prefix() => write!(f, "path {}*", rule.text()),
            Self::Path(rule) => write!(f, "path {}", rule.text()),
            Self::When(_) => f.write_str("closure"),
        }
    }
}

/// Checks the name of a rule. The names of rules appear in logs, metrics and headers.
///
/// # Errors
///
/// Returns an error if the name is empty, or contains a space or a character that is not printable
/// ASCII.
pub(crate) fn validate_name(field: &'static str, name: &str) -> Result<(), ConfigError> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        let given = format!("{name:?} in the rule {name:?}");
        let expected = "a name of printable ASCII characters without spaces";
        return Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, expected));
    }
    Ok(())
}

/// Returns whether the path of a request is covered by a rule.
#[inline]
fn is_for(head: &RequestHead<'_>, rule: &PathRule, doubt: Doubt) -> bool {
    let path = head.uri().path();
    match doubt {
        // The path itself is compared first, because the readings are not needed if the path
        // matches.
        Doubt::Covered => {
            rule.covers_text(path.as_bytes())
                || head.readings(path, |readings| readings.may_be(path, rule))
        }
        // The path itself must match, including any trailing slash, and no reading of the path may
        // leave the prefix that the rule names.
        Doubt::Exempt => rule.is(path) && head.readings(path, Readings::is_clear),
    }
}

/// Returns whether `method` equals `meant`, or is HEAD while `meant` is GET.
///
/// HEAD is GET without the content of the response (RFC 9110 section 9.3.2). A HEAD request causes
/// the same work if the GET handler answers it, and could otherwise be used to evade a limit on
/// GET.
pub(crate) fn is_method(method: &Method, meant: &Method) -> bool {
    method == meant || *method == Method::HEAD && *meant == Method::GET
}

/// Returns whether a request names this host in its target (`:authority` in HTTP/2) and in its
/// `Host` headers.
///
/// The target takes precedence over the header (RFC 9112 section 3.2.2), but not every server
/// behind the layer follows this rule. If the target and the header differ, the request may be
/// meant for either host, so it is ambiguous.
fn names_host(head: &RequestHead<'_>, host: &str, doubt: Doubt) -> bool {
    // An exemption covers only the usual form of a host.
    let name = match doubt {
        Doubt::Covered => host_of,
        Doubt::Exempt => without_port,
    };
    let is_meant = |named: &[u8]| name(named).eq_ignore_ascii_case(host.as_bytes());
    let mut named = authorities(head.uri(), head.headers()).map(is_meant).peekable();
    match doubt {
        Doubt::Covered => named.any(|is_meant| is_meant),
        Doubt::Exempt => named.peek().is_some() && named.all(|is_meant| is_meant),
    }
}

/// Returns the hosts that a request names in its target and in its `Host` headers.
pub(crate) fn hosts<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> impl Iterator<Item = &'a [u8]> {
    authorities(uri, headers).map(host_of)
}

/// Returns the authority in the target of a request, and its `Host` headers.
fn authorities<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> impl Iterator<Item = &'a [u8]> {
    let target = uri.authority().map(|authority| authority.as_str().as_bytes());
    let lines = headers.get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    target.into_iter().chain(lines)
}

/// Returns the host in an authority, without user information and port (RFC 3986 section 3.2), and
/// without the dot that may end a fully qualified name (RFC 1034 section 3.1).
fn host_of(authority: &[u8]) -> &[u8] {
    let named = memchr::memrchr(b'@', authority).map_or(authority, |at| &authority[at + 1..]);
    let named = without_port(named);
    named.strip_suffix(b".").unwrap_or(named)
}

/// Returns a host without its port (RFC 3986 section 3.2.3).
fn without_port(named: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', named) {
        Some(at) if named[at + 1..].iter().all(u8::is_ascii_digit) => &named[..at],
        _ => named,
    }
}

/// Returns whether a string is a valid host, without user information or a port.
fn is_host(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|authority| authority.host() == text)
}

/// The requests that a limit or a gate applies to: those that have one of the methods and satisfy
/// all matchers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The methods that are covered. An empty list covers all methods.
    methods: Vec<Method>,
    matchers: Vec<Matcher>,
}

impl Scope {
    /// Returns whether the limit or the gate with this scope applies to a request. An ambiguous
    /// request is covered if any reading matches.
    #[inline]
    pub(crate) fn covers(&self, head: &RequestHead<'_>) -> bool {
        (self.methods.is_empty()
            || self.methods.iter().any(|allowed| is_method(head.method(), allowed)))
            && self.matchers.iter().all(|matcher| matcher.covers(head, Doubt::Covered))
    }

    /// Adds methods to a scope. An empty list leaves the scope unchanged, rather than restricting
    /// it to no method at all.
    pub(crate) fn add_methods(scope: &mut Option<Self>, methods: impl IntoIterator<Item = Method>) {
        let mut methods = methods.into_iter().peekable();
        if methods.peek().is_some() {
            scope.get_or_insert_default().methods.extend(methods);
        }
    }

    /// Adds a matcher, which narrows the scope.
    pub(crate) fn add(scope: &mut Option<Self>, matcher: Matcher) {
        scope.get_or_insert_default().matchers.push(matcher);
    }

    /// Checks all matchers. Error messages contain `field` and `rule`.
    ///
    /// # Errors
    ///
    /// Returns the first error of [`Matcher::validate`].
    pub(crate) fn validate(&self, field: &'static str, rule: &str) -> Result<(), ConfigError> {
        self.matchers.iter().try_for_each(|matcher| matcher.validate(field, rule))
    }
}

/// Returns whether a header field can have this value. Whitespace around a value is not part of the
/// value (RFC 9110 section 5.5), so a value with such whitespace matches no request.
pub(crate) fn is_field(text: &str) -> bool {
    HeaderValue::from_bytes(text.as_bytes()).is_ok() && text.trim_ascii() == text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(matcher: &Matcher, path: &str, doubt: Doubt) -> bool {
        let mut request = http::Request::new(());
        *request.uri_mut() = path.parse().unwrap();
        matcher.covers(&RequestHead::from(&request), doubt)
    }

    #[test]
    fn two_matchers_are_equal_if_they_are_configured_alike() {
        use Matcher::{All, Cookie, Header, Host, Network, When};
        let texts = ["a", "b"];
        let prefix = |text: &str| Matcher::Path(PathRule::prefix(text.to_owned()));
        let network = |text: &str| Network(text.to_owned(), text.parse().ok());
        let mut all = Vec::from(texts.map(|text| All(vec![prefix(text)])));
        all.extend(texts.map(|text| Cookie(text.to_owned())));
        all.extend(texts.map(|text| Header(text.to_owned(), None)));
        all.push(Header("a".to_owned(), Some("b".to_owned())));
        all.extend(texts.map(|text| Host(text.to_owned())));
        all.extend([Method::GET, Method::PUT].map(Matcher::Method));
        all.extend(["10.0.0.0/8", "10.0.0.0/9"].map(network));
        all.extend(texts.map(prefix));
        all.extend(texts.map(|_| When(Arc::new(|_| true))));
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(*one == other.clone(), i == j, "{one:?} and {other:?}");
            }
        }
    }

    fn is_login(path: &str) -> bool {
        covers(&Matcher::Path(PathRule::exact("/login".to_owned())), path, Doubt::Covered)
    }

    #[test]
    fn a_path_matches_in_every_notation() {
        for sly in [
            "/login",
            "/%6cogin",
            "/%256cogin",
            "//login",
            "/x/../login",
            "/x/%2e%2e/login",
            "/x/..%2flogin",
            "/x/%252e%252e%252flogin",
            "/\\login",
            "/x%5c..%5clogin",
            "/../.././login",
            "//x//..///login",
            "/login/",
            "/login//",
            "/login/.",
            "/login/x/..",
            "/login%2f",
            "/login/%252e/",
            "/login;a=b",
            "/x/..;a=b/login;c/",
            "/login%3bx",
            "/login%3fx",
            "/login%2523",
            "/login%00",
        ] {
            assert!(is_login(sly), "{sly}");
        }
    }

    #[test]
    fn an_ambiguous_path_that_differs_does_not_match() {
        for other in [
            "/api/v4/projects/group%2Fname",
            "/x%2flogin",
            "//x",
            "/login/../x",
            "/a/../b",
            "/Login",
            "/login/x",
            "/login.",
            "/login/;/x",
            "/x;/login",
            "/x%5clogin",
            "/favicon.ico",
            "/%25256cogin",
            "/%ff",
            "/",
        ] {
            assert!(!is_login(other), "{other}");
        }
    }

    #[test]
    fn a_limit_by_host_recognizes_every_form_of_the_host() {
        let host = Matcher::Host("shop.example".to_owned());
        for named in ["shop.example", "SHOP.example:80", "shop.example.", "a:b@shop.example.:80"] {
            let request = http::Request::get("/").header("host", named).body(()).unwrap();
            let head = RequestHead::from(&request);
            assert!(host.covers(&head, Doubt::Covered), "{named}");
            let is_usual = !named.contains(['@']) && !named.contains("example.");
            assert_eq!(host.covers(&head, Doubt::Exempt), is_usual, "{named}");
        }
    }

    #[test]
    fn a_slash_at_the_end_is_the_same_path_for_a_limit_only() {
        let login = Matcher::Path(PathRule::exact("/login/".to_owned()));
        assert!(covers(&login, "/login", Doubt::Covered));
        assert!(!covers(&login, "/login", Doubt::Exempt));
        assert!(covers(&login, "/login/", Doubt::Exempt));
        let root = Matcher::Path(PathRule::exact("/".to_owned()));
        assert!(covers(&root, "//", Doubt::Covered));
        assert!(!covers(&root, "/x", Doubt::Covered));
        let api = Matcher::Path(PathRule::prefix("/api/".to_owned()));
        for path in ["/api", "/x/..;/api", "/api/x", "/api//"] {
            assert!(covers(&api, path, Doubt::Covered), "{path}");
        }
        assert!(!covers(&api, "/api", Doubt::Exempt));
        assert!(!covers(&api, "/apis", Doubt::Covered));
    }

    #[test]
    fn a_path_that_is_too_long_is_limited_and_never_exempt() {
        let path = |bytes: usize| format!("/assets/{}", "a".repeat(bytes - 8));
        let assets = Matcher::Path(PathRule::prefix("/assets/".to_owned()));
        assert!(covers(&assets, &path(8 * 1024), Doubt::Exempt));
        assert!(!covers(&assets, &path(8 * 1024 + 1), Doubt::Exempt));
        assert!(!is_login(&path(8 * 1024)));
        assert!(is_login(&path(8 * 1024 + 1)));
        let escaped = |bytes: usize| path(bytes - 3) + "%20";
        assert!(covers(&assets, &escaped(8 * 1024), Doubt::Exempt));
        assert!(!is_login(&escaped(8 * 1024)));
        assert!(is_login(&escaped(8 * 1024 + 1)));
        let odd = |bytes: usize| path(bytes - 5) + "/.git";
        assert!(covers(&assets, &odd(256), Doubt::Exempt));
        assert!(!covers(&assets, &odd(257), Doubt::Exempt));
        assert!(!is_login(&odd(256)));
        assert!(is_login(&odd(257)));
        let many = |times: usize| format!("/assets/{}", ";a".repeat(times));
        assert!(covers(&assets, &many(16), Doubt::Exempt) && !is_login(&many(16)));
        assert!(!covers(&assets, &many(17), Doubt::Exempt) && is_login(&many(17)));
        assert!(is_login(&"/.".repeat(30_000)));
    }
}
