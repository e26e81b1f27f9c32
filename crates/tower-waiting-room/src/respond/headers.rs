//! The headers that go with every form of answer.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LANGUAGE, REFRESH, RETRY_AFTER, VARY,
        X_CONTENT_TYPE_OPTIONS,
    },
};

use super::{Answer, Outcome};
use crate::{token::TOKEN_HEADER, visit::ClientKind};

/// The header by which a script tells our answers from the application's: `admit`, `refuse` or
/// `wait`.
pub(super) const OUTCOME_HEADER: HeaderName = HeaderName::from_static("waiting-room");

/// Our response headers that a script of another origin can read only if they are exposed.
///
/// Every answer of ours says so by itself. Responses of the application do too with
/// `CorsLayer::new().expose_headers(EXPOSED_HEADERS)`; that layer belongs outside of ours, so that
/// our answers get their `Access-Control-Allow-Origin` from it.
pub const EXPOSED_HEADERS: [HeaderName; 3] = [RETRY_AFTER, OUTCOME_HEADER, TOKEN_HEADER];

/// Adds them to `headers`, which may have others already.
pub(super) fn complete(headers: &mut HeaderMap, answer: &Answer) {
    // RFC 6585 §4 forbids to store a 429; the page of a room that answers 200 needs it said.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.append(VARY, HeaderValue::from_static(VARIES_BY));
    headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(OUTCOME_HEADER, HeaderValue::from_static(answer.outcome.as_str()));
    headers
        .entry(CONTENT_LANGUAGE)
        .or_insert_with(|| HeaderValue::from_static(answer.language.tag()));
    match answer.retry_after_seconds() {
        None => {
            headers.remove(RETRY_AFTER);
        }
        Some(seconds) => {
            let seconds = HeaderValue::from(seconds);
            if answer.is_refreshed() {
                headers.insert(REFRESH, seconds.clone());
            }
            headers.insert(RETRY_AFTER, seconds);
        }
    }
}

impl Answer {
    /// Whether the browser shall ask again by itself.
    ///
    /// Not after a POST: a refresh is a GET, and would drop what was posted.
    fn is_refreshed(&self) -> bool {
        self.outcome == Outcome::Wait && self.kind == ClientKind::Navigation && self.is_safe
    }
}

const VARIES_BY: &str = "Accept, Accept-Language, Cookie, Sec-Fetch-Mode, Sec-Fetch-Dest, \
                         waiting-room-token, waiting-room-poll";

/// [`EXPOSED_HEADERS`] as one value.
const EXPOSED: &str = "Retry-After, waiting-room, waiting-room-token";
