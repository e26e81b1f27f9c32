//! The paths that the layer answers itself, to which scripts send a POST: to leave, and to continue
//! on another device.
//!
//! Browsers send cookies with requests from other sites unless the cookie forbids it. A request
//! from another origin has no effect, because another site could otherwise take away a visitor's
//! place. Such a request is treated like any other request for that path.

use http::{HeaderName, Method, header::HOST};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use crate::request::RequestHead;

/// A path to which scripts send a POST.
#[derive(Clone, Debug)]
pub(crate) struct PostPath {
    /// The option that configures the path.
    pub(crate) field: &'static str,
    path: Box<str>,
}

impl PostPath {
    pub(crate) fn new(field: &'static str, path: String) -> Self {
        Self { field, path: path.into() }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.path
    }

    /// Returns whether a request is a POST to this path by a script of the same origin.
    pub(crate) fn is_asked(&self, head: &RequestHead<'_>) -> bool {
        *head.method() == Method::POST && head.uri().path() == &*self.path && is_same_origin(head)
    }

    /// Checks the form of the path.
    ///
    /// # Errors
    ///
    /// Returns an error if browsers would request a different path.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check_path(self.field, &self.path)
    }
}

/// Checks a path that the layer answers itself. Pages contain such a path, and browsers resolve it.
///
/// # Errors
///
/// Returns an error if the path is too long, or if a browser would change it or mistake it for a
/// host.
pub(super) fn check_path(field: &'static str, path: &str) -> Result<(), ConfigError> {
    let wrong =
        |kind, given: String, expected: &str| Err(ConfigError::new(kind, field, given, expected));
    if path.len() > MAX_LEN {
        let given = format!("{} bytes long", path.len());
        return wrong(ConfigErrorKind::TooLarge, given, "at most 255");
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let has_dots = path.split('/').any(|segment| matches!(segment, "." | ".."));
    let is_path = path.starts_with('/') && !path.starts_with("//") && path.len() > 1;
    if !is_path || has_dots || !path.bytes().all(is_plain) {
        let expected = "a path that browsers do not change: / and then letters, digits and /-._~";
        return wrong(ConfigErrorKind::Malformed, format!("{path:?}"), expected);
    }
    Ok(())
}

/// Returns whether a request comes from the origin that it is sent to, or from a client that is not
/// a browser.
///
/// Browsers state in `Sec-Fetch-Site` where a request comes from (Fetch Metadata). Browsers that do
/// not send this header send an `Origin` with each POST (Fetch section 3.2). A client that sends
/// neither is not a browser, and no other site can make it send a request.
pub(super) fn is_same_origin(head: &RequestHead<'_>) -> bool {
    let headers = head.headers();
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin";
    }
    let Some(origin) = headers.get("origin") else { return true };
    let host = head.uri().authority().map(|authority| authority.as_str().as_bytes());
    let host = host.or_else(|| headers.get(HOST).map(|host| host.as_bytes()));
    let origin = origin.as_bytes();
    let authority =
        [&b"https://"[..], b"http://"].iter().find_map(|scheme| origin.strip_prefix(*scheme));
    matches!((authority, host), (Some(one), Some(other)) if one.eq_ignore_ascii_case(other))
}

/// The maximum length of a path in bytes.
const MAX_LEN: usize = 255;

/// The header in which browsers state how the origin of a request relates to its target.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
