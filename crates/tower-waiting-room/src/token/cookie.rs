//! The cookie settings, and the checks that these settings do not contradict each other.
//!
//! Browsers drop a cookie that breaks the promise of its name prefix, or that lacks an attribute
//! which another attribute requires. Browsers do not report a dropped cookie to the server, so
//! every visitor would remain a newcomer. Settings that would lead to a dropped cookie are
//! therefore rejected at start-up.

use std::fmt;

use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The settings of the cookie that carries a token.
///
/// By default the cookie is `__Host-wr-<room>=…; HttpOnly; SameSite=Lax; Secure; Path=/`. Browsers
/// send this cookie only over TLS and only to the host that set it, and hide it from scripts.
/// `HttpOnly` cannot be turned off.
///
/// ```
/// use tower_waiting_room::{WaitingRoomConfig, token::CookieSettings};
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
///
/// In a configuration file, the fields of the table `cookie` have the names of the methods:
/// `{ "same_site": "none", "partitioned": true }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CookieSettings {
    /// The name of the cookie; `None` for the default name, which depends on the room and on
    /// `is_insecure`.
    name: Option<String>,
    /// The domain of the cookie; `None` if only the host that sets the cookie receives it.
    domain: Option<String>,
    path: String,
    same_site: SameSite,
    #[serde(rename = "insecure")]
    is_insecure: bool,
    #[serde(rename = "partitioned")]
    is_partitioned: bool,
}

impl CookieSettings {
    /// The maximum length of the name, of the path and of the domain, in bytes. Browsers ignore
    /// attributes of more than 1 KiB.
    pub const MAX_LEN: usize = 255;

    /// Creates the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: None,
            domain: None,
            path: "/".to_owned(),
            same_site: SameSite::Lax,
            is_insecure: false,
            is_partitioned: false,
        }
    }

    /// Sets the full name of the cookie, including its prefix. The default is `__Host-wr-<room>`.
    ///
    /// Two rooms on the same host need cookies with different names. Otherwise each room overwrites
    /// the tokens of the other.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sends the cookie to this domain and all of its subdomains, so that several hosts share the
    /// room.
    ///
    /// Each of these hosts can then read and replace the token. The name of a cookie with a domain
    /// must not have the `__Host-` prefix.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Sends the cookie only for this path and the paths below it. The default is `/`.
    ///
    /// With any other path, the name of the cookie must not have the `__Host-` prefix.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets which requests from other sites include the cookie. The default is [`SameSite::Lax`].
    #[must_use]
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = same_site;
        self
    }

    /// Makes browsers store a separate cookie for each top-level site (CHIPS). A room that is shown
    /// in frames on other sites needs this setting. The default is a single cookie for all sites.
    ///
    /// Use this setting together with [`SameSite::None`], because browsers send no other cookies
    /// with requests from frames on other sites.
    #[must_use]
    pub fn partitioned(mut self) -> Self {
        self.is_partitioned = true;
        self
    }

    /// Removes the `Secure` attribute, and the `__Host-` prefix of the default name, for
    /// development without TLS.
    ///
    /// Browsers and `curl` treat `http://localhost` as secure, but not necessarily other names for
    /// the local machine. Many HTTP clients never send a `Secure` cookie over plain HTTP, and would
    /// therefore never leave the line. In production, an attacker on the network path can read and
    /// reuse the token of an insecure cookie.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.is_insecure = true;
        self
    }

    /// Checks the settings for the room with this name.
    ///
    /// # Errors
    ///
    /// Returns an error for the first setting that no browser would accept or that contradicts
    /// another setting. For a contradiction, the error names both values.
    pub(crate) fn validate(&self, room: &str) -> Result<(), ConfigError> {
        let name = self.resolve_name(room);
        self.check_forms(&name)?;
        // The `__Host-` prefix promises the `Secure` attribute, no `Domain` attribute, and the path
        // `/`. A browser drops a cookie that breaks one of these promises. `Secure` is checked
        // below, together with the other prefixes.
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
        if !self.is_insecure {
            return Ok(());
        }
        if PREFIXES.into_iter().any(|prefix| has_prefix(&name, prefix)) {
            let expected = "a name without such a prefix for an insecure cookie";
            return contradicts("cookie_name", format_args!("{name:?}"), expected);
        }
        // Browsers drop cookies with `SameSite=None` or `Partitioned` unless they are also
        // `Secure`.
        if self.same_site == SameSite::None {
            let expected = "Lax or Strict for an insecure cookie";
            return contradicts("cookie_same_site", "None", expected);
        }
        if self.is_partitioned {
            return contradicts("cookie_partitioned", "on", "off for an insecure cookie");
        }
        Ok(())
    }

    /// Returns every attribute of the cookie except `Max-Age`, each after a semicolon and a space
    /// (RFC 6265 section 4.1.1). The attributes of valid settings are a valid header value.
    pub(super) fn attributes(&self) -> String {
        let same_site = match self.same_site {
            SameSite::Lax => "Lax",
            SameSite::None => "None",
            SameSite::Strict => "Strict",
        };
        let partitioned = if self.is_partitioned { "; Partitioned" } else { "" };
        let secure = if self.is_insecure { "" } else { "; Secure" };
        let path = &self.path;
        let domain = self.domain.as_deref().map(|domain| format!("; Domain={domain}"));
        let domain = domain.unwrap_or_default();
        format!("; HttpOnly; SameSite={same_site}{partitioned}{secure}; Path={path}{domain}")
    }

    /// Returns the name of the cookie for the room with this name.
    pub(super) fn resolve_name(&self, room: &str) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None if self.is_insecure => format!("wr-{room}"),
            None => format!("__Host-wr-{room}"),
        }
    }

    /// Checks the form of the name, of the path and of the domain separately.
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

/// The requests from other sites that include the cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the standard defines these three values")]
pub enum SameSite {
    /// Top-level navigations include the cookie. A visitor who follows a link from an email or
    /// another site keeps its place.
    #[default]
    Lax,
    /// All requests from other sites include the cookie. A room that is shown in frames on other
    /// sites requires this value.
    None,
    /// No request from another site includes the cookie. A visitor who follows a link from another
    /// site joins the line as a newcomer.
    Strict,
}

/// Checks the length of one setting, and then its form.
fn check(
    field: &'static str,
    given: &str,
    is_right: bool,
    expected: &str,
) -> Result<(), ConfigError> {
    if given.len() > CookieSettings::MAX_LEN {
        let given = format!("{} bytes long", given.len());
        let expected = format_args!("at most {}", CookieSettings::MAX_LEN);
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected));
    }
    if !is_right {
        let given = format_args!("{given:?}");
        return Err(ConfigError::new(ConfigErrorKind::Malformed, field, given, expected));
    }
    Ok(())
}

/// Returns the error for a setting that contradicts another setting. The error names both values.
fn contradicts(
    field: &'static str,
    given: impl fmt::Display,
    expected: impl fmt::Display,
) -> Result<(), ConfigError> {
    Err(ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected))
}

/// Returns whether the string is a token, as the name of a cookie must be (RFC 6265 section 4.1.1).
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns whether the string consists of labels that are separated by dots and contain only
/// letters, digits and hyphens. An internationalized name must be in punycode.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.split('.').all(is_label)
}

/// Returns whether a name has this prefix, ignoring case as browsers do
/// (draft-ietf-httpbis-rfc6265bis-22 section 5.4).
fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|front| front.eq_ignore_ascii_case(prefix))
}

/// The name prefixes that promise `Secure`. `__Http-` is defined in
/// draft-ietf-httpbis-layered-cookies-02 section 4.1.3.3.
const PREFIXES: [&str; 3] = ["__Host-", "__Secure-", "__Http-"];

#[cfg(test)]
mod tests;
