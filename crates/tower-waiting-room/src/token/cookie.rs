//! How the cookie is set: the options, and the check that they do not contradict each other.

use std::fmt;

use cookie::Cookie;
use serde::Deserialize;
use waiting_room_core::{ConfigError, ConfigErrorKind};

/// How the cookie that carries a token is set.
///
/// By default `__Host-wr-<room>=…; HttpOnly; SameSite=Lax; Secure; Path=/`, which browsers send
/// to the one host that set it, over TLS only, and keep from scripts. It is always `HttpOnly`.
///
/// ```
/// use tower_waiting_room::{CookieSettings, WaitingRoomConfig};
///
/// // One room for www.example.com and shop.example.com.
/// let cookie = CookieSettings::new().name("__Secure-line").domain("example.com");
///
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .cookie(cookie)
///     .build()?;
///
/// // The prefix of the default name promises that there is no domain.
/// let error = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .cookie(CookieSettings::new().domain("example.com"))
///     .build()
///     .unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cookie_domain is \"example.com\", expected none with the name \"__Host-wr-shop\""
/// );
/// # let _ = config;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieSettings {
    name: Option<String>,
    domain: Option<String>,
    path: String,
    same_site: SameSite,
    is_secure: bool,
    is_partitioned: bool,
}

impl CookieSettings {
    /// The longest name, path and domain, in bytes. Browsers give all attributes 1 KiB each.
    pub const MAX_LEN: usize = 255;

    /// The default cookie.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: None,
            domain: None,
            path: "/".to_owned(),
            same_site: SameSite::Lax,
            is_secure: true,
            is_partitioned: false,
        }
    }

    /// The whole name of the cookie, prefix included. `__Host-wr-<room>` by default.
    ///
    /// Two rooms on one host need two names, or each overwrites the token of the other.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sends the cookie to this domain and all below it, so that several hosts share the room.
    ///
    /// Every one of these hosts can then read and replace the token. Needs a name without the
    /// prefix `__Host-`.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Sends the cookie only to this path and below. `/` by default.
    ///
    /// Another path needs a name without the prefix `__Host-`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Which requests from other sites carry the cookie. [`SameSite::Lax`] by default.
    #[must_use]
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = same_site;
        self
    }

    /// Keeps one cookie for each top-level site (CHIPS), for a room inside other sites' frames.
    ///
    /// Use it with [`SameSite::None`].
    #[must_use]
    pub fn partitioned(mut self) -> Self {
        self.is_partitioned = true;
        self
    }

    /// For development without TLS: drops `Secure`, and the prefix `__Host-` of the default name.
    ///
    /// Browsers and `curl` take `http://localhost` for secure, but not every name of this machine,
    /// and many HTTP clients never send a `Secure` cookie over plain HTTP: they would never leave
    /// the line. In production, anybody on the
    /// network can read and use the token of such a cookie.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.is_secure = false;
        self
    }

    /// Checks the settings for the room of this name.
    ///
    /// # Errors
    ///
    /// The first that no browser would take, or that contradicts another; with both values.
    pub(crate) fn validate(&self, room: &str) -> Result<(), ConfigError> {
        let name = self.resolve_name(room);
        self.check_forms(&name)?;
        if has_prefix(&name, "__Host-") {
            if let Some(domain) = &self.domain {
                let expected = format_args!("none with the name {name:?}");
                return contradicts("cookie_domain", format_args!("{domain:?}"), expected);
            }
            if self.path != "/" {
                let expected = format_args!("\"/\" with the name {name:?}");
                return contradicts("cookie_path", format_args!("{:?}", self.path), expected);
            }
        }
        if self.is_secure {
            return Ok(());
        }
        if PREFIXES.into_iter().any(|prefix| has_prefix(&name, prefix)) {
            let expected = "a name without such a prefix for an insecure cookie";
            return contradicts("cookie_name", format_args!("{name:?}"), expected);
        }
        if self.same_site == SameSite::None {
            let expected = "Lax or Strict for an insecure cookie";
            return contradicts("cookie_same_site", "None", expected);
        }
        if self.is_partitioned {
            return contradicts("cookie_partitioned", "on", "off for an insecure cookie");
        }
        Ok(())
    }

    /// The cookie with every attribute but its age, and without a value.
    ///
    /// # Errors
    ///
    /// As [`validate`](Self::validate): a cookie that is built can be written as a header.
    pub(super) fn build(&self, room: &str) -> Result<Cookie<'static>, ConfigError> {
        self.validate(room)?;
        let mut cookie = Cookie::new(self.resolve_name(room), "");
        cookie.set_http_only(true);
        cookie.set_secure(self.is_secure);
        cookie.set_partitioned(self.is_partitioned);
        cookie.set_path(self.path.clone());
        cookie.set_same_site(match self.same_site {
            SameSite::Lax => cookie::SameSite::Lax,
            SameSite::None => cookie::SameSite::None,
            SameSite::Strict => cookie::SameSite::Strict,
        });
        if let Some(domain) = &self.domain {
            cookie.set_domain(domain.clone());
        }
        Ok(cookie)
    }

    /// The cookie's name in the room of this name.
    fn resolve_name(&self, room: &str) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None if self.is_secure => format!("__Host-wr-{room}"),
            None => format!("wr-{room}"),
        }
    }

    /// Name, path and domain, each for itself.
    fn check_forms(&self, name: &str) -> Result<(), ConfigError> {
        check("cookie_name", name, is_token(name), "a token (RFC 9110 section 5.6.2)")?;
        let is_path = self.path.starts_with('/')
            && self.path.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b';');
        check("cookie_path", &self.path, is_path, "a path that begins with '/'")?;
        match &self.domain {
            Some(domain) => check("cookie_domain", domain, is_domain(domain), "a domain name"),
            None => Ok(()),
        }
    }
}

impl Default for CookieSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// Which requests from other sites carry the cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the standard has these three")]
pub enum SameSite {
    /// Those that navigate: who follows a link from a mail or another site keeps the place.
    #[default]
    Lax,
    /// All. Needed for a room inside other sites' frames.
    None,
    /// None: a visitor who follows a link from elsewhere joins the line again.
    Strict,
}

fn check(
    field: &'static str,
    given: &str,
    is_right: bool,
    expected: &str,
) -> Result<(), ConfigError> {
    if given.len() > CookieSettings::MAX_LEN {
        let given = format_args!("{} bytes long", given.len());
        let expected = format_args!("at most {}", CookieSettings::MAX_LEN);
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected));
    }
    if !is_right {
        let given = format_args!("{given:?}");
        return Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, expected));
    }
    Ok(())
}

fn contradicts(
    field: &'static str,
    given: impl fmt::Display,
    expected: impl fmt::Display,
) -> Result<(), ConfigError> {
    Err(ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected))
}

/// A cookie's name must be a token (RFC 6265 section 4.1.1).
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Letters, digits and hyphens between dots; an international name is given as punycode.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.split('.').all(is_label)
}

/// Browsers match a prefix without regard to case (draft-ietf-httpbis-rfc6265bis-22 section 5.4).
fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|front| front.eq_ignore_ascii_case(prefix))
}

/// The prefixes that promise `Secure`; the third is from draft-ietf-httpbis-layered-cookies-02
/// section 4.1.3.3.
const PREFIXES: [&str; 3] = ["__Host-", "__Secure-", "__Http-"];

#[cfg(test)]
mod tests;
