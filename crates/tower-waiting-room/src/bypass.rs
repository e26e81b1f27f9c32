//! Requests that do not concern the room.
//!
//! A bypassed request is neither counted nor queued, gets no cookie, and is unaffected by
//! `queue_all`. What a rule covers, any client can send: a path, a header or a cookie that must
//! not open the room to everybody has to be a secret. CORS preflights are always bypassed: a browser sends them without cookies, and a
//! refused one would look like a network error.

use std::{borrow::Cow, fmt, sync::Arc};

use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use waiting_room_core::{ConfigError, ConfigErrorKind};

/// A rule for requests that do not concern the room; its name is shown as `bypass:<name>`.
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
    test: Test,
}

#[derive(Clone)]
enum Test {
    Cookie(String),
    Header(String, Option<String>),
    Method(Method),
    Path(String),
    PathPrefix(String),
    When(Arc<dyn Fn(&RequestHead<'_>) -> bool + Send + Sync>),
}

impl Bypass {
    /// Requests that carry a cookie of this name, whatever its value.
    #[must_use]
    pub fn cookie(name: impl Into<Cow<'static, str>>, cookie: impl Into<String>) -> Self {
        Self::new(name, Test::Cookie(cookie.into()))
    }

    /// Requests that carry this header, with exactly this value if one is given.
    #[must_use]
    pub fn header<'a>(
        name: impl Into<Cow<'static, str>>,
        header: impl Into<String>,
        value: impl Into<Option<&'a str>>,
    ) -> Self {
        Self::new(name, Test::Header(header.into(), value.into().map(str::to_owned)))
    }

    /// Requests of this method.
    #[must_use]
    pub fn method(name: impl Into<Cow<'static, str>>, method: Method) -> Self {
        Self::new(name, Test::Method(method))
    }

    /// Requests for exactly this path, as this layer sees it: inside of axum's `nest`, without the
    /// prefix.
    #[must_use]
    pub fn path(name: impl Into<Cow<'static, str>>, path: impl Into<String>) -> Self {
        Self::new(name, Test::Path(path.into()))
    }

    /// Requests for a path that begins so. `/assets/` covers `/assets/a.css`, not `/assets`.
    ///
    /// A path with dot segments or escaped slashes is not covered: what stands behind may take
    /// `/assets/../checkout` for another path than it seems.
    #[must_use]
    pub fn path_prefix(name: impl Into<Cow<'static, str>>, prefix: impl Into<String>) -> Self {
        Self::new(name, Test::PathPrefix(prefix.into()))
    }

    /// Requests for which the closure says so. It must be quick: it sees every request.
    #[must_use]
    pub fn when(
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Test::When(Arc::new(test)))
    }

    fn new(name: impl Into<Cow<'static, str>>, test: Test) -> Self {
        Self { name: name.into(), test }
    }

    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(crate) fn covers(&self, head: &RequestHead<'_>) -> bool {
        match &self.test {
            Test::Cookie(cookie) => carries_cookie(head.headers, cookie),
            Test::Header(header, None) => head.headers.contains_key(header.as_str()),
            Test::Header(header, Some(value)) => {
                head.headers.get_all(header.as_str()).iter().any(|other| other == value)
            }
            Test::Method(method) => head.method == method,
            Test::Path(path) => head.uri.path() == path,
            Test::PathPrefix(prefix) => {
                head.uri.path().starts_with(prefix) && is_unambiguous(head.uri.path())
            }
            Test::When(test) => test(head),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |given: &str, expected: &str| {
            let given = format!("{given:?} in the rule {:?}", self.name);
            Err(ConfigError::new(ConfigErrorKind::Malformed, "bypass", given, expected))
        };
        if self.name.is_empty() || !self.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return wrong(&self.name, "a name of printable ASCII characters without spaces");
        }
        match &self.test {
            Test::Header(header, _) if HeaderName::try_from(header.as_str()).is_err() => {
                wrong(header, "the name of a header")
            }
            Test::Header(_, Some(value)) if HeaderValue::try_from(value.as_str()).is_err() => {
                wrong(value, "the value of a header")
            }
            Test::Path(path) | Test::PathPrefix(path) if !path.starts_with('/') => {
                wrong(path, "a path that begins with '/'")
            }
            Test::Cookie(cookie) if cookie.is_empty() => wrong(cookie, "the name of a cookie"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bypass").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a rule may look at: a request without its body.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

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
}

impl<'a, B> From<&'a http::Request<B>> for RequestHead<'a> {
    fn from(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

/// Whether every reader takes the path for the same (RFC 3986 section 6.2.2).
fn is_unambiguous(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace("%2e", ".");
    let hides_a_slash = ["%2f", "%5c", "\\"].iter().any(|hidden| path.contains(hidden));
    !hides_a_slash && !path.split('/').any(|segment| matches!(segment, "." | ".."))
}

fn carries_cookie(headers: &HeaderMap, name: &str) -> bool {
    headers.get_all(header::COOKIE).iter().any(|line| {
        line.as_bytes().split(|&byte| byte == b';').any(|pair| {
            let pair = pair.trim_ascii_start();
            pair.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        })
    })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

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
        for sly in ["..", ".", "%2E%2e", "..%2f", "..%5C", "a/.%2e"] {
            assert!(!covers(&prefix, get(&format!("/assets/{sly}/checkout"))), "{sly}");
        }
        assert!(covers(&prefix, get("/assets/a..b/.well-known")));
        let method = Bypass::method("trace", Method::TRACE);
        assert!(!covers(&method, get("/")));
        let header = Bypass::header("probe", "x-probe", "1");
        assert!(covers(&header, get("/").header("X-Probe", "1")));
        assert!(!covers(&header, get("/").header("X-Probe", "2")));
        let cookie = Bypass::cookie("staff", "staff");
        assert!(covers(&cookie, get("/").header("cookie", "a=b; staff=1")));
        assert!(!covers(&cookie, get("/").header("cookie", "nostaff=1; staff2=1")));
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
                Bypass::cookie("", "x"),
                "bypass is \"\" in the rule \"\", expected a name of printable ASCII characters \
                 without spaces",
            ),
        ] {
            assert_eq!(rule.validate().unwrap_err().to_string(), message);
        }
    }
}
