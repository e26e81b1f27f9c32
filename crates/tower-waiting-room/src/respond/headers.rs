//! The headers that all answers have in common, and the names of headers that clients and
//! applications use.
//!
//! Intermediaries must not store an answer or serve it to another client. Scripts from other
//! origins must be able to read an answer, and each client must learn when to retry.

use std::error::Error;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, REFRESH,
        RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};

use waiting_room_core::Reason;

use super::{Answer, Outcome};
use crate::{request::ClientKind, room::TOKEN_HEADER};

/// The response header with which the application sends a command to the layer. The value `revoke`
/// ends the session of the visitor. The layer removes the header from the response.
pub const COMMAND_HEADER: HeaderName = HeaderName::from_static("waiting-room-command");

/// The command header under the name that Cloudflare's product uses.
pub(crate) const CLOUDFLARE_COMMAND_HEADER: HeaderName =
    HeaderName::from_static("cf-waiting-room-command");

/// The response header with the [`Reason`], sent only if
/// [`DebugHeader::On`](crate::config::DebugHeader::On) is configured.
pub const REASON_HEADER: HeaderName = HeaderName::from_static("waiting-room-reason");

/// Returns the reason for a response: why the request was forwarded, queued or refused.
///
/// Returns `None` in the most common cases: the visitor has a valid pass, or the layer has no room
/// and the limits allowed the request.
pub fn reason_of<B>(response: &Response<B>) -> Option<&Reason> {
    response.extensions().get()
}

/// The header that lets a script distinguish the layer's answers from the application's responses.
/// Its value is `admit`, `refuse` or `wait`. If a rate limit refuses a program, the header is
/// omitted, because the problem document states the outcome.
pub(crate) const OUTCOME_HEADER: HeaderName = HeaderName::from_static("waiting-room");

/// The layer's response headers that a script from another origin can read only if they are
/// exposed.
///
/// The layer's answers already expose these headers. For the application's responses, use
/// `CorsLayer::new().expose_headers(EXPOSED_HEADERS)`. The CORS layer has to wrap this layer,
/// because this layer's answers need `Access-Control-Allow-Origin` too.
pub const EXPOSED_HEADERS: [HeaderName; 12] = [
    RETRY_AFTER,
    OUTCOME_HEADER,
    TOKEN_HEADER,
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-ratelimit-retry-after"),
];

/// Adds the headers that all answers have in common to `headers`, which may already contain other
/// headers.
///
/// A form may already have set another language, and may have added further request headers to
/// `Vary`. A form cannot change the headers that keep the answer out of caches.
pub(super) fn complete(headers: &mut HeaderMap, answer: &Answer) {
    // RFC 6585 section 4 forbids caches to store a 429, but an answer may have another status.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if answer.has_origin || !answer.is_for_program() {
        headers.append(VARY, HeaderValue::from_static(VARIES_BY));
    }
    if !answer.is_for_program() {
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    if answer.has_origin {
        expose(headers);
    }
    headers.insert(OUTCOME_HEADER, HeaderValue::from_static(answer.outcome.as_str()));
    if answer.has_text() {
        headers
            .entry(CONTENT_LANGUAGE)
            .or_insert_with(|| HeaderValue::from_static(answer.language.tag()));
    }
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

/// Allows a script of another origin to read the layer's headers.
pub(crate) fn expose(headers: &mut HeaderMap) {
    headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
}

impl Answer {
    /// Returns whether the browser should reload the page by itself.
    ///
    /// A browser should not reload the page after a POST, because a refresh is a GET and would drop
    /// the posted data.
    fn is_refreshed(&self) -> bool {
        self.outcome == Outcome::Wait && self.kind == ClientKind::Navigation && self.is_safe
    }
}

/// Creates a response with this body and content type, and no other headers.
pub(super) fn of_type(content_type: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    response.headers_mut().reserve(USUAL);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An error that prevented an answer from being rendered. The error is logged and not sent to the
/// client.
pub(super) type Failure = Box<dyn Error>;

/// The usual number of headers in an answer, including the headers that the stages add. Reserving
/// space for all of them at once is cheaper than growing the map.
pub(super) const USUAL: usize = 12;

/// The request headers that determine the kind, the language and the place of a client.
pub(super) const VARIES_BY: &str = "Accept, Accept-Language, Cookie, Sec-Fetch-Mode, Sec-Fetch-Dest, \
                         waiting-room-token, waiting-room-poll";

/// The names in [`EXPOSED_HEADERS`] as one header value. A test compares this value with the list.
const EXPOSED: &str = "Retry-After, waiting-room, waiting-room-token, RateLimit, \
    RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-RateLimit-Limit, \
    X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Retry-After";

#[cfg(test)]
mod tests {
    use waiting_room_core::Reason;

    use super::*;
    use crate::{rate_headers::RateHeaders, respond::sample};

    fn complete_of(answer: &Answer) -> HeaderMap {
        let mut headers = HeaderMap::new();
        complete(&mut headers, answer);
        headers
    }

    #[test]
    fn answers_are_not_stored_and_vary_is_complete() {
        let headers = complete_of(&sample::placed());
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[CONTENT_LANGUAGE], "en");
        assert_eq!(headers[OUTCOME_HEADER], "wait");
        for name in
            ["Accept,", "Accept-Language,", "Cookie,", "Sec-Fetch-Mode,", "waiting-room-poll"]
        {
            assert!(headers[VARY].to_str().unwrap().contains(name), "{name}");
        }
    }

    #[test]
    fn a_page_states_its_refresh_in_both_headers() {
        let headers = complete_of(&sample::placed());
        assert_eq!(
            (&headers[RETRY_AFTER], &headers[REFRESH]),
            (&"9".parse().unwrap(), &"9".parse().unwrap())
        );
    }

    #[test]
    fn only_a_waiting_page_that_is_safe_to_repeat_refreshes() {
        let json = Answer { kind: ClientKind::Json, ..sample::placed() };
        for answer in [json, sample::unsent(), sample::refusal(Reason::RefusedLineFull)] {
            let headers = complete_of(&answer);
            assert!(headers.contains_key(RETRY_AFTER) && !headers.contains_key(REFRESH));
        }
        let rejected = complete_of(&sample::refusal(Reason::RefusedReject));
        assert!(!rejected.contains_key(RETRY_AFTER) && !rejected.contains_key(REFRESH));
    }

    #[test]
    fn headers_of_a_custom_page_are_kept() {
        let mut headers = HeaderMap::new();
        headers.insert(VARY, HeaderValue::from_static("X-Tenant"));
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static("nl"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        complete(&mut headers, &sample::placed());
        assert_eq!(headers.get_all(VARY).iter().count(), 2);
        assert_eq!(headers[CONTENT_LANGUAGE], "nl");
        assert_eq!(headers[CACHE_CONTROL], "no-store");
    }

    #[test]
    fn the_cors_list_matches_the_headers_of_the_layer() {
        let list = EXPOSED_HEADERS.map(|name| name.to_string()).join(", ");
        assert!(EXPOSED.eq_ignore_ascii_case(&list));
    }

    #[test]
    fn every_header_of_every_profile_is_in_the_cors_list() {
        for profile in RateHeaders::ALL {
            for field in profile.fields() {
                assert!(EXPOSED_HEADERS.contains(&field.name), "{}", field.name);
            }
        }
    }
}
