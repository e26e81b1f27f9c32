//! One route: the host and the paths that belong to a room.

use std::fmt;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use crate::request::{Matcher, PathRule};

/// The requests that belong to a room: a host, a path prefix, or both.
///
/// Letter case is significant in paths, but not in hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct Route {
    /// The host, or `None` for all hosts.
    host: Option<String>,
    path: PathRule,
}

impl Route {
    /// All requests for this host, such as `tickets.example`. The port of a request does not
    /// matter, and wildcards are not supported.
    #[must_use]
    pub fn host(host: impl Into<String>) -> Self {
        Self { host: Some(host.into()), path: PathRule::prefix("/".to_owned()) }
    }

    /// All requests whose path begins with this prefix, for any host.
    ///
    /// The prefix `/sale` also covers `/sales`; `/sale/` covers `/sale` and everything below it.
    /// Letters outside ASCII are written as they are, not escaped.
    #[must_use]
    pub fn path(prefix: impl Into<String>) -> Self {
        Self { host: None, path: PathRule::prefix(prefix.into()) }
    }

    /// Restricts a route with a host to the paths that begin with this prefix, as in
    /// [`path`](Self::path).
    ///
    /// ```
    /// use tower_waiting_room::routes::Route;
    ///
    /// let route = Route::host("shop.example").below("/sale/");
    /// # let _ = route;
    /// ```
    #[must_use]
    pub fn below(mut self, prefix: impl Into<String>) -> Self {
        self.path = PathRule::prefix(prefix.into());
        self
    }

    /// Checks the host and the path.
    ///
    /// # Errors
    ///
    /// Returns an error if the host is not a valid host, or if the path does not begin with a slash
    /// or can be interpreted in several ways.
    pub(super) fn validate(&self, room: &str) -> Result<(), ConfigError> {
        if let Some(host) = &self.host {
            Matcher::Host(host.clone()).validate("route.host", room)?;
        }
        Matcher::Path(self.path.clone()).validate("route.path", room)?;
        let path = self.path.text();
        if path.contains(['%', '?', '#', ';', '\\']) || path.contains("//") || path.contains("/.") {
            let given = format!("{path:?} in the room {room:?}");
            let expected = "a path without escapes, parameters, empty segments and dot segments";
            return Err(ConfigError::new(
                ConfigErrorKind::Malformed,
                "route.path",
                given,
                expected,
            ));
        }
        Ok(())
    }

    /// Returns the host, or `None` for all hosts.
    pub(super) fn host_name(&self) -> Option<&[u8]> {
        self.host.as_deref().map(str::as_bytes)
    }

    /// Returns whether the route covers this host and this reading of a path. `host` is `None` if
    /// the request names no host.
    pub(super) fn covers(&self, host: Option<&[u8]>, path: &[u8]) -> bool {
        self.covers_host(host) && self.path.covers_text(path)
    }

    /// Returns whether the route covers this host, for some path.
    pub(super) fn covers_host(&self, host: Option<&[u8]>) -> bool {
        self.host
            .as_ref()
            .is_none_or(|own| host.is_some_and(|host| host.eq_ignore_ascii_case(own.as_bytes())))
    }

    /// Returns a key that is greater for more specific routes.
    pub(super) fn specificity(&self) -> (bool, usize) {
        (self.host.is_some(), self.path.text().trim_end_matches('/').len())
    }

    /// Returns whether two routes cover the same requests.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_host = match (&self.host, &other.host) {
            (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
            (None, None) => true,
            _ => false,
        };
        is_same_host && self.path == other.path
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.host.as_deref().unwrap_or("*"), self.path.text())
    }
}
