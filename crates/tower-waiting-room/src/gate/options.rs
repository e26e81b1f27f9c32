//! The options of a gate other than its limit and its queue: when a permit is released, which
//! status codes a refusal can have, and which headers contain the client's deadline.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The point at which a request's permit is released.
///
/// With either option, the application can hold the permit for longer by keeping a
/// [`PermitHandle`](super::PermitHandle). If there is no response, because the client disconnects
/// or the application panics, the permit is released when the request's future is dropped.
///
/// An upgraded connection, such as a WebSocket, is not a response body: with either option, it holds
/// no permit once the status 101 has been sent, unless its task keeps a `PermitHandle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReleaseAt {
    /// Releases the permit at the end of the response: when the last frame of the body has been
    /// handed to the server, or when the body is dropped. With this option, which is the default,
    /// the gate also bounds streams and downloads.
    #[default]
    BodyEnd,
    /// Releases the permit when the head of the response is ready, like tower's `ConcurrencyLimit`.
    /// The gate then does not limit how many response bodies are sent at once. Use this option if
    /// sending a body costs the service little.
    Head,
}

/// The status codes of responses to requests that a gate refuses. Each refusal has a `Retry-After`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GateStatuses {
    /// The status codes of a limiter, which are the default. A request is answered with 429 if
    /// neither a permit nor a place in the queue is free, or if the request was shed. A request
    /// that waited until its deadline is answered with 504. While the gate is being drained,
    /// requests are answered with 503.
    #[default]
    Limiter,
    /// The status codes of an overloaded origin server: 503, even for a request that waited until
    /// its deadline. A gate with a key still answers with 429 if it refuses a request immediately
    /// or sheds it, because a single client is to blame. Use this option behind proxies that retry
    /// a 504 or count it as their own error.
    Origin,
}

/// A request header in which a client specifies how long it will wait for the response.
///
/// If the client would give up before a permit becomes free, its request is refused instead of
/// queued, so that permits are not spent on responses that no client reads. The stated time is
/// counted from the arrival of the request at the layer.
///
/// Clients gain nothing from a false value: a shorter time only gets a request refused sooner, and
/// a longer time does not extend the wait that the gate allows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientDeadline {
    /// The `grpc-timeout` header, with the units of the gRPC protocol. Every gate honors this
    /// header.
    Grpc,
    /// The header with this name, whose value is a whole number of milliseconds, such as Envoy's
    /// `x-envoy-expected-rq-timeout-ms`.
    Millis(String),
    /// The header with this name, whose value is a whole number of seconds.
    Seconds(String),
}

impl ClientDeadline {
    /// Returns the time stated in a request's headers, or `None` if the header is absent or
    /// malformed. Without a stated time, a gate applies only its own bounds.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Duration> {
        match self {
            // Most requests lack the header. Comparing the names of their few headers shows this in
            // fewer instructions than parsing and hashing the name for a look-up.
            Self::Grpc if !headers.keys().any(|name| *name == GRPC_TIMEOUT) => None,
            Self::Grpc => grpc_timeout(text(headers, GRPC_TIMEOUT.as_str())?),
            Self::Millis(name) => number(text(headers, name)?).map(Duration::from_millis),
            Self::Seconds(name) => number(text(headers, name)?).map(Duration::from_secs),
        }
    }

    /// Checks that the name is a valid header name.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is invalid. The error names the `client_deadline` field and the
    /// given name.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        if let Self::Millis(name) | Self::Seconds(name) = self
            && HeaderName::try_from(name).is_err()
        {
            let given = format!("{name:?}");
            let kind = ConfigErrorKind::Malformed;
            return Err(ConfigError::new(kind, "client_deadline", given, "the name of a header"));
        }
        Ok(())
    }
}

/// Returns the first value of a header if it consists of visible ASCII characters.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Parses a number that consists of decimal digits only. `parse` alone would also accept a leading
/// `+`, which none of the headers allows. Returns `None` for an empty string or a number above
/// `u64::MAX`.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses a `grpc-timeout`: one to eight digits and a unit, as defined by "gRPC over HTTP2"
/// (PROTOCOL-HTTP2.md, "Requests"). An eight-digit number of hours does not overflow a `u64` number
/// of seconds.
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let amount = number(digits).filter(|_| (1..=8).contains(&digits.len()))?;
    Some(match unit {
        "H" => Duration::from_secs(amount * 3_600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

/// The header in which gRPC clients state their deadline.
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

#[cfg(test)]
mod tests {
    use super::*;

    fn of(deadline: &ClientDeadline, name: &'static str, value: &str) -> Option<Duration> {
        let value = http::HeaderValue::try_from(value).unwrap();
        deadline.of(&HeaderMap::from_iter([(HeaderName::from_static(name), value)]))
    }

    #[test]
    fn a_grpc_timeout_is_read_in_every_unit() {
        let grpc = |value| of(&ClientDeadline::Grpc, "grpc-timeout", value);
        let millis = ["1H", "2M", "3S", "4m", "5000u", "6000000n"].map(grpc);
        let expected = [3_600_000, 120_000, 3_000, 4, 5, 6].map(Duration::from_millis);
        assert_eq!(millis, expected.map(Some));
        assert_eq!(grpc("99999999H"), Some(Duration::from_secs(359_999_996_400)));
    }

    #[test]
    fn a_malformed_timeout_is_ignored() {
        for value in ["", "S", "1", "1h", "-1S", "+1S", "1.5S", "123456789S", "1 S", "1Sé", "é"] {
            assert_eq!(of(&ClientDeadline::Grpc, "grpc-timeout", value), None, "{value}");
        }
        let millis = ClientDeadline::Millis("x-timeout-ms".to_owned());
        for value in ["", "-5", "5.0", "99999999999999999999"] {
            assert_eq!(of(&millis, "x-timeout-ms", value), None, "{value}");
        }
        assert_eq!(of(&millis, "x-timeout-ms", "250"), Some(Duration::from_millis(250)));
        let seconds = ClientDeadline::Seconds("X-Timeout".to_owned());
        assert_eq!(of(&seconds, "x-timeout", "3"), Some(Duration::from_secs(3)));
    }
}
