//! The answer for a gRPC client: a status and the time to retry, in trailers.
//!
//! The response is "trailers-only" with HTTP status 200: the headers are the trailers, and there is
//! no body. A bare 429 or 503 would reach the caller as UNAVAILABLE, which clients retry at once.
//!
//! | trailer | reader | content |
//! |---|---|---|
//! | `grpc-status` | both | the code |
//! | `grpc-message` | the caller | the sentences of the answer |
//! | `grpc-retry-pushback-ms` | the gRPC library (gRFC A6) | the time to retry, or -1 |
//! | `grpc-status-details-bin` | the caller | a `google.rpc.Status` with `RetryInfo` |
//!
//! The time to retry is sent twice, because no single trailer is read by all clients. OTLP clients,
//! for example, retry after RESOURCE_EXHAUSTED only if the status contains `RetryInfo`. The
//! Protobuf messages are only a few bytes long, so they are encoded by hand.
//!
//! A gRPC-Web client gets the same trailers in a frame of the body (PROTOCOL-WEB), because a script
//! of another origin could not read them as headers.

use std::time::Duration;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, header::CONTENT_TYPE};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use waiting_room_core::Reason;

use super::{Answer, Message, headers::of_type};

/// Renders the answer as gRPC trailers.
pub(super) fn response(answer: &Answer) -> Response<Bytes> {
    let message = Message::paragraph(answer);
    // A negative pushback means that the call must not be retried (gRFC A6).
    let pushback = answer.retry_after.map(|time| whole_millis(time).to_string());
    let details = STANDARD_NO_PAD.encode(status(code(answer), &message, answer.retry_after));
    let mut response = of_type("application/grpc", Bytes::new());
    let mut insert = |name: &'static str, value: String| {
        // The conversion never fails, because digits, Base64 and percent-encoded strings consist of
        // bytes that are valid in headers.
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    };
    insert("grpc-status", code(answer).to_string());
    insert("grpc-message", utf8_percent_encode(&message, MESSAGE).to_string());
    insert("grpc-status-details-bin", details);
    insert("grpc-retry-pushback-ms", pushback.unwrap_or_else(|| "-1".to_owned()));
    response
}

/// Moves the trailers of a finished response into the body, in this media type of gRPC-Web. The
/// types that contain `-text` are encoded in Base64.
pub(super) fn for_web(response: Response<Bytes>, media_type: &[u8]) -> Response<Bytes> {
    let (mut parts, _) = response.into_parts();
    let mut trailers = Vec::new();
    let names: Vec<_> =
        parts.headers.keys().filter(|name| name.as_str().starts_with("grpc-")).cloned().collect();
    for name in names {
        if let Some(value) = parts.headers.remove(&name) {
            trailers.extend([name.as_str().as_bytes(), b":", value.as_bytes(), b"\r\n"].concat());
        }
    }
    let length = u32::try_from(trailers.len()).unwrap_or(u32::MAX);
    let frame = [&[TRAILERS][..], &length.to_be_bytes(), &trailers].concat();
    let is_text =
        media_type.len() >= TEXT.len() && media_type[..TEXT.len()].eq_ignore_ascii_case(TEXT);
    if let Ok(media_type) = HeaderValue::from_bytes(media_type) {
        parts.headers.insert(CONTENT_TYPE, media_type);
    }
    let body = if is_text { STANDARD.encode(frame).into() } else { frame.into() };
    Response::from_parts(parts, body)
}

/// Returns the gRPC status code: RESOURCE_EXHAUSTED, unless the service is misconfigured, is
/// draining, cannot decide at the moment, or made the request wait too long.
#[expect(clippy::wildcard_enum_match_arm, reason = "most refusals share a code")]
fn code(answer: &Answer) -> u8 {
    match answer.reason {
        Reason::RefusedAddressUnknown => INTERNAL,
        Reason::RefusedGateDrained
        | Reason::RefusedLimitsBusy
        | Reason::RefusedLimitsUnavailable => UNAVAILABLE,
        Reason::RefusedGateTimeout => DEADLINE_EXCEEDED,
        _ => RESOURCE_EXHAUSTED,
    }
}

/// Rounds a duration up to whole milliseconds, and to at least 1 ms, so that a client that waits
/// for this time is never too early.
fn whole_millis(time: Duration) -> u128 {
    time.as_nanos().div_ceil(1_000_000).max(1)
}

/// Encodes `google.rpc.Status { code, message, details: [Any(RetryInfo { retry_delay })] }`.
///
/// The messages are nested, and each inner message is prefixed with its length, so the innermost
/// message is encoded first.
fn status(code: u8, message: &str, retry_delay: Option<Duration>) -> Vec<u8> {
    let mut status = Vec::with_capacity(message.len() + 80);
    number(&mut status, 1, u64::from(code));
    bytes(&mut status, 2, message.as_bytes());
    if let Some(delay) = retry_delay {
        let mut duration = vec![];
        let mut retry_info = vec![];
        let mut any = vec![];
        number(&mut duration, 1, delay.as_secs());
        number(&mut duration, 2, u64::from(delay.subsec_nanos()));
        bytes(&mut retry_info, 1, &duration);
        bytes(&mut any, 1, b"type.googleapis.com/google.rpc.RetryInfo");
        bytes(&mut any, 2, &retry_info);
        bytes(&mut status, 3, &any);
    }
    status
}

/// Appends a numeric field (wire type 0) to a Protobuf message. The value 0 is the default and is
/// left out.
fn number(message: &mut Vec<u8>, field: u8, value: u64) {
    if value > 0 {
        message.push(field << 3);
        varint(message, value);
    }
}

/// Appends a field with a string, bytes or another message (wire type 2) to a Protobuf message.
fn bytes(message: &mut Vec<u8>, field: u8, value: &[u8]) {
    message.push(field << 3 | 2);
    varint(message, value.len() as u64);
    message.extend_from_slice(value);
}

/// Appends a number as a varint: in groups of seven bits, starting with the lowest group. The top
/// bit of each byte is set if another byte follows.
fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    message.push(value.to_le_bytes()[0]);
}

/// The first byte of a frame with trailers.
const TRAILERS: u8 = 0x80;

/// The beginning of the media types whose bodies are text.
const TEXT: &[u8] = b"application/grpc-web-text";

// Codes of `google.rpc.Code`.
const DEADLINE_EXCEEDED: u8 = 4;
const INTERNAL: u8 = 13;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNAVAILABLE: u8 = 14;

/// The characters that `grpc-message` must escape: the percent sign, and everything except
/// printable ASCII. The encoder always escapes non-ASCII bytes.
const MESSAGE: &AsciiSet = &CONTROLS.add(b'%');

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use tonic_types::pb;
    use waiting_room_core::Reason;

    use super::*;
    use crate::respond::sample;

    fn trailer<'a>(response: &'a Response<Bytes>, name: &str) -> &'a str {
        response.headers()[name].to_str().unwrap()
    }

    #[test]
    fn the_status_is_in_the_headers_of_an_empty_response() {
        let response = response(&sample::placed());
        assert_eq!((response.status().as_u16(), response.body().len()), (200, 0));
        assert_eq!(trailer(&response, "content-type"), "application/grpc");
        assert_eq!(trailer(&response, "grpc-status"), "8");
        assert_eq!(trailer(&response, "grpc-retry-pushback-ms"), "8200");
        assert!(trailer(&response, "grpc-message").starts_with("You are number 12 in line. "));
    }

    #[test]
    fn the_details_have_the_expected_bytes() {
        let delay = Duration::from_millis(300_500);
        let expected = [
            b"\x08\x08\x12\x02hi\x1a\x37".as_slice(),
            b"\x0a\x28type.googleapis.com/google.rpc.RetryInfo",
            b"\x12\x0b\x0a\x09\x08\xac\x02\x10\x80\xca\xb5\xee\x01",
        ];
        assert_eq!(status(8, "hi", Some(delay)), expected.concat());
        assert_eq!(status(8, "hi", None), b"\x08\x08\x12\x02hi");
    }

    #[test]
    fn the_pushback_is_rounded_up_to_whole_milliseconds() {
        let nanos = [0, 1, 1_000_000, 1_000_001, 1_999_999_999];
        let told = nanos.map(|nanos| whole_millis(Duration::from_nanos(nanos)));
        assert_eq!(told, [1, 1, 1, 2, 2_000]);
    }

    #[test]
    fn a_client_of_google_rpc_reads_the_delay() {
        let response = response(&sample::placed());
        let details = trailer(&response, "grpc-status-details-bin");
        let status = pb::Status::decode(&*STANDARD_NO_PAD.decode(details).unwrap()).unwrap();
        let retry_info = pb::RetryInfo::decode(&*status.details[0].value).unwrap();
        let delay = retry_info.retry_delay.unwrap();
        assert_eq!((status.code, delay.seconds, delay.nanos), (8, 8, 200_000_000));
        assert_eq!(status.message, trailer(&response, "grpc-message"));
        assert_eq!(status.details[0].type_url, "type.googleapis.com/google.rpc.RetryInfo");
    }

    #[test]
    fn a_rejection_tells_a_grpc_client_not_to_retry() {
        let response = response(&sample::refusal(Reason::RefusedReject));
        assert_eq!(trailer(&response, "grpc-retry-pushback-ms"), "-1");
    }

    #[test]
    fn a_message_that_is_not_ascii_is_percent_encoded() {
        assert_eq!(utf8_percent_encode("50 % é\n~", MESSAGE).to_string(), "50 %25 %C3%A9%0A~");
    }
}
