//! Which requests a rule is about.

use std::{fmt, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use percent_encoding::percent_decode_str;
use waiting_room_core::{ConfigError, ConfigErrorKind};

use super::head::RequestHead;

/// A test of a request, by what can be seen without its body.
#[derive(Clone)]
pub(crate) enum Matcher {
    /// Carries a cookie of this name.
    Cookie(String),
    /// Carries this header, with exactly this value if one is given.
    Header(String, Option<String>),
    /// Is of this method; or of HEAD, if this is GET.
    Method(Method),
    /// Is for exactly this path.
    Path(String),
    /// Is for a path that begins so.
    PathPrefix(String),
    /// Is what a closure says.
    When(Arc<dyn Fn(&RequestHead<'_>) -> bool + Send + Sync>),
}

/// What to make of a path that not every reader takes for the same, such as
/// `/assets/../checkout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It is covered if any of them takes it for one that is meant: for rules that restrict.
    Covered,
    /// It is not covered: for rules that exempt.
    Exempt,
}

impl Matcher {
    /// Whether a request is meant.
    pub(crate) fn covers(&self, head: &RequestHead<'_>, doubt: Doubt) -> bool {
        let path = head.uri().path();
        let is_path = |is_meant: &dyn Fn(&str) -> bool| match doubt {
            Doubt::Covered => is_meant(path) || !is_plain(path) && is_meant_by_some(path, is_meant),
            Doubt::Exempt => is_meant(path) && is_unambiguous(path),
        };
        match self {
            Self::Cookie(cookie) => carries_cookie(head.headers(), cookie),
            Self::Header(header, None) => head.headers().contains_key(header.as_str()),
            Self::Header(header, Some(value)) => {
                head.headers().get_all(header.as_str()).iter().any(|other| other == value)
            }
            Self::Method(method) => is_method(head.method(), method),
            Self::Path(meant) => is_path(&|path| path == meant),
            Self::PathPrefix(prefix) => is_path(&|path| path.starts_with(prefix)),
            Self::When(test) => test(head),
        }
    }

    /// Checks that it can be meant; `field` and `rule` are named in the error.
    pub(crate) fn validate(&self, field: &'static str, rule: &str) -> Result<(), ConfigError> {
        let wrong = |given: &str, expected: &str| {
            let given = format!("{given:?} in the rule {rule:?}");
            Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, expected))
        };
        match self {
            Self::Header(header, _) if HeaderName::try_from(header.as_str()).is_err() => {
                wrong(header, "the name of a header")
            }
            Self::Header(_, Some(value)) if HeaderValue::try_from(value.as_str()).is_err() => {
                wrong(value, "the value of a header")
            }
            Self::Path(path) | Self::PathPrefix(path) if !path.starts_with('/') => {
                wrong(path, "a path that begins with '/'")
            }
            Self::Cookie(cookie) if cookie.is_empty() => wrong(cookie, "the name of a cookie"),
            _ => Ok(()),
        }
    }
}

impl PartialEq for Matcher {
    /// Closures are the same if they are one.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cookie(a), Self::Cookie(b))
            | (Self::Path(a), Self::Path(b))
            | (Self::PathPrefix(a), Self::PathPrefix(b)) => a == b,
            (Self::Header(a, x), Self::Header(b, y)) => (a, x) == (b, y),
            (Self::Method(a), Self::Method(b)) => a == b,
            (Self::When(a), Self::When(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cookie(cookie) => write!(f, "cookie {cookie}"),
            Self::Header(header, None) => write!(f, "header {header}"),
            Self::Header(header, Some(value)) => write!(f, "header {header}: {value}"),
            Self::Method(method) => write!(f, "method {method}"),
            Self::Path(path) => write!(f, "path {path}"),
            Self::PathPrefix(prefix) => write!(f, "path {prefix}*"),
            Self::When(_) => f.write_str("closure"),
        }
    }
}

/// Checks the name of a rule, which stands in logs, metrics and headers.
pub(crate) fn validate_name(field: &'static str, name: &str) -> Result<(), ConfigError> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        let given = format!("{name:?} in the rule {name:?}");
        let expected = "a name of printable ASCII characters without spaces";
        return Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, expected));
    }
    Ok(())
}

/// Whether a method is the one that is meant. HEAD is GET without the content of the response (RFC
/// 9110 section 9.3.2), and the same work where the handler of GET answers it.
pub(crate) fn is_method(method: &Method, meant: &Method) -> bool {
    method == meant || *method == Method::HEAD && *meant == Method::GET
}

/// Whether some reader may take the path for one that is meant: one that decodes it once or, behind
/// a proxy that decodes too, twice; and that then takes backslashes for slashes, joins slashes and
/// resolves dot segments, or does not.
fn is_meant_by_some(path: &str, is_meant: &dyn Fn(&str) -> bool) -> bool {
    let is_read = |path: &str| is_meant(path) || resolved(path).is_some_and(|path| is_meant(&path));
    let once = percent_decode_str(path).decode_utf8_lossy();
    let twice = percent_decode_str(&once).decode_utf8_lossy();
    [path, &once, &twice].into_iter().any(is_read)
}

/// The path that is left once the detours in it are taken; `None` if there are none.
fn resolved(path: &str) -> Option<String> {
    let is_slash = |letter| matches!(letter, '/' | '\\');
    let is_dots = |segment: &str| matches!(segment, "." | "..");
    let has_detours = path.contains("//") || path.contains('\\') || path.split('/').any(is_dots);
    if !has_detours {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split(is_slash) {
        match segment {
            "" | "." => {}
            ".." => _ = kept.pop(),
            _ => kept.push(segment),
        }
    }
    // A path that ends in a slash or in dots names a folder (RFC 3986 section 5.2.4).
    let last = path.rsplit(is_slash).next().unwrap_or_default();
    let is_folder = !kept.is_empty() && (last.is_empty() || is_dots(last));
    Some(format!("/{}{}", kept.join("/"), if is_folder { "/" } else { "" }))
}

/// Whether there is nothing in the path that could be read in two ways.
fn is_plain(path: &str) -> bool {
    memchr::memchr3(b'.', b'%', b'\\', path.as_bytes()).is_none() && !path.contains("//")
}

/// Whether every reader takes the path for the same (RFC 3986 section 6.2.2).
fn is_unambiguous(path: &str) -> bool {
    if is_plain(path) {
        return true;
    }
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

/// The requests that a limit is about: those that all of these match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    methods: Vec<Method>,
    matchers: Vec<Matcher>,
}

impl Scope {
    /// Whether a request is meant. A path is, if any reader takes it for one that is.
    pub(crate) fn covers(&self, head: &RequestHead<'_>) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|it| is_method(head.method(), it)))
            && self.matchers.iter().all(|it| it.covers(head, Doubt::Covered))
    }

    /// Adds methods to a scope, which stays everything if there are none.
    pub(crate) fn add_methods(scope: &mut Option<Self>, methods: impl IntoIterator<Item = Method>) {
        let mut methods = methods.into_iter().peekable();
        if methods.peek().is_some() {
            scope.get_or_insert_default().methods.extend(methods);
        }
    }

    /// Adds a matcher to a scope.
    pub(crate) fn add(scope: &mut Option<Self>, matcher: Matcher) {
        scope.get_or_insert_default().matchers.push(matcher);
    }

    /// Checks that it can be meant; `field` and `rule` are named in the error.
    pub(crate) fn validate(&self, field: &'static str, rule: &str) -> Result<(), ConfigError> {
        self.matchers.iter().try_for_each(|it| it.validate(field, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_login(path: &str) -> bool {
        is_meant_by_some(path, &|path| path == "/login")
    }

    #[test]
    fn a_path_is_meant_in_whichever_way_it_is_written() {
        for sly in [
            "/login",
            "/%6cogin",
            "/%256cogin",
            "//login",
            "/x/../login",
            "/x/%2e%2e/login",
            "/x/..%2flogin",
            "/x/%252e%252e%252flogin",
            "\\login",
            "/x%5c..%5clogin",
            "/../.././login",
            "//x//..///login",
        ] {
            assert!(is_login(sly), "{sly}");
        }
    }

    #[test]
    fn a_path_that_is_not_clear_and_yet_another_is_not_meant() {
        for other in [
            "/api/v4/projects/group%2Fname",
            "/x%2flogin",
            "//x",
            "/login/../x",
            "/a/../b",
            "/login/.",
            "/login//",
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
    fn what_is_left_of_a_path_says_whether_it_is_a_folder() {
        for (path, left) in [
            ("/a//b", "/a/b"),
            ("/a/b/..", "/a/"),
            ("/a/b/.", "/a/b/"),
            ("/a\\b\\", "/a/b/"),
            ("/..", "/"),
            ("//", "/"),
        ] {
            assert_eq!(resolved(path).as_deref(), Some(left), "{path}");
        }
        assert_eq!(resolved("/a..b/.well-known/..."), None);
    }
}
