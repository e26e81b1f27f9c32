//! Requests with which visitors leave: a script of the waiting page or of the application sends a
//! POST to a path, for example with `navigator.sendBeacon`.
//!
//! A visitor that leaves gives up its session or its place, which would otherwise be kept for as long
//! as the rules say. The answer waits until the store has been told, so that the slot is free for the
//! visitors of all nodes. If the client disconnects or the store does not answer, the end is delivered
//! with the next call of this node, like every end that no response waits for (`ends.rs`).
//!
//! Browsers send cookies with the requests of other sites, unless the cookie forbids it, so a request
//! from another origin does not count: another site could otherwise take away a visitor's place. Such
//! a request is treated like any other request for that path.

use http::{HeaderName, Method, header::HOST};
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use crate::request::RequestHead;

/// The path to which visitors send a POST to leave.
#[derive(Clone, Debug)]
pub(crate) struct LeavePath(Box<str>);

impl LeavePath {
    /// The maximum length of the path in bytes.
    const MAX_LEN: usize = 255;

    pub(crate) fn new(path: String) -> Self {
        Self(path.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a request asks to leave.
    pub(crate) fn is_asked(&self, head: &RequestHead<'_>) -> bool {
        *head.method() == Method::POST && head.uri().path() == &*self.0 && is_same_origin(head)
    }

    /// Checks the form of the path.
    ///
    /// # Errors
    ///
    /// Returns an error if no request can have this path.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |kind, given: String, expected: &str| {
            Err(ConfigError::new(kind, "leave_path", given, expected))
        };
        if self.0.len() > Self::MAX_LEN {
            let given = format!("{} bytes long", self.0.len());
            return wrong(ConfigErrorKind::TooLarge, given, "at most 255");
        }
        let is_path = self.0.starts_with('/')
            && self.0.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
        if !is_path {
            let expected = "a path that begins with '/', without a query";
            return wrong(ConfigErrorKind::Malformed, format!("{:?}", self.0), expected);
        }
        Ok(())
    }
}

/// Returns whether a request comes from the origin that it is sent to, or from a client that is no
/// browser.
///
/// Browsers state where a request comes from in `Sec-Fetch-Site` (Fetch Metadata). Those that do not
/// send an `Origin` with each POST (Fetch section 3.2). A client that sends neither is no browser, and
/// no other site can make it send a request.
fn is_same_origin(head: &RequestHead<'_>) -> bool {
    let headers = head.headers();
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin";
    }
    let Some(origin) = headers.get("origin") else { return true };
    let host = head.uri().authority().map(|it| it.as_str().as_bytes());
    let host = host.or_else(|| headers.get(HOST).map(|host| host.as_bytes()));
    let origin = origin.as_bytes();
    let authority = [&b"https://"[..], b"http://"].iter().find_map(|it| origin.strip_prefix(*it));
    matches!((authority, host), (Some(one), Some(other)) if one.eq_ignore_ascii_case(other))
}

/// The header in which browsers state how the origin of a request relates to its target.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
