//! Options of a gate beside its limit and its queue: when a permit is released, which statuses a
//! refusal has, and which headers state the deadline of a client.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The point at which the permit of a request is released.
///
/// A [`PermitHandle`](super::PermitHandle) that the application keeps holds the permit for longer
/// in either case. Without a response, because the client disconnects or the application panics,
/// the permit is released when the request's future is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReleaseAt {
    /// At the end of the response: when the last frame of its body has been handed to the server,
    /// or the body is dropped. The gate then bounds streams and downloads too. The default.
    #[default]
    BodyEnd,
    /// When the head of the response is ready, as with tower's `ConcurrencyLimit`. Response bodies
    /// are then not limited: use it if sending a body costs the service little.
    Head,
}

/// The statuses of requests that a gate refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GateStatuses {
    /// The statuses of a limiter, and the default. 429 if no permit and no place in the queue is
    /// free or the request was shed; 504 without `Retry-After` if it waited until its deadline; 503
    /// while the gate is drained.
    #[default]
    Limiter,
    /// The statuses of an overloaded origin server: 503, also for a request that waited until its
    /// deadline. At a gate for each value of a key, 429 remains for requests that are refused at
    /// once or shed, because one client is to blame. Use it behind proxies that retry a 504 or
    /// count it as an error of their own. Each refusal has a `Retry-After`, except while the gate
    /// is drained.
    Origin,
}

/// A request header in which a client states for how long it waits for the response.
///
/// A request whose client would have given up before a permit is free is refused instead of queued,
/// so permits are not spent on responses that no client reads. The stated time counts from the
/// arrival of the request at the layer.
///
/// Clients cannot gain from a false value: a shorter time only gets a request refused sooner, and a
/// longer one does not extend the wait that the gate allows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientDeadline {
    /// `grpc-timeout`, in the units of the gRPC protocol. Every gate honors it.
    Grpc,
    /// The header of this name, with a whole number of milliseconds, such as Envoy's
    /// `x-envoy-expected-rq-timeout-ms`.
    Millis(String),
    /// The header of this name, with a whole number of seconds.
    Seconds(String),
}

impl ClientDeadline {
    /// The time that the headers of a request state. `None` if the header is absent or malformed: a
    /// gate then applies its own bounds only.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Duration> {
        match self {
            Self::Grpc => grpc_timeout(text(headers, "grpc-timeout")?),
            Self::Millis(name) => number(text(headers, name)?).map(Duration::from_millis),
            Self::Seconds(name) => number(text(headers, name)?).map(Duration::from_secs),
        }
    }

    /// Checks that the name is one that a header can have.
    ///
    /// # Errors
    ///
    /// Returns an error for the field `client_deadline`, with the name.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Millis(name) | Self::Seconds(name) if HeaderName::try_from(name).is_err() => {
                let given = format!("{name:?}");
                let kind = ConfigErrorKind::Malformed;
                Err(ConfigError::new(kind, "client_deadline", given, "the name of a header"))
            }
            _ => Ok(()),
        }
    }
}

/// The first value of a header, if it is visible ASCII.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Parses a number of decimal digits only. `parse` alone would also accept a leading `+`, which
/// neither header allows. An empty text and a number above `u64::MAX` are `None`.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses a `grpc-timeout`: one to eight digits and a unit, as "gRPC over HTTP2"
/// (PROTOCOL-HTTP2.md, "Requests") defines it. With eight digits, the longest time of 99 999 999 h
/// does not overflow.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(deadline: &ClientDeadline, name: &'static str, value: &str) -> Option<Duration> {
        let value = http::HeaderValue::try_from(value).unwrap();
        deadline.of(&HeaderMap::from_iter([(HeaderName::from_static(name), value)]))
    }

    #[test]
    fn a_timeout_of_grpc_is_read_in_each_of_its_units() {
        let grpc = |value| of(&ClientDeadline::Grpc, "grpc-timeout", value);
        let millis = ["1H", "2M", "3S", "4m", "5000u", "6000000n"].map(grpc);
        let expected = [3_600_000, 120_000, 3_000, 4, 5, 6].map(Duration::from_millis);
        assert_eq!(millis, expected.map(Some));
        assert_eq!(grpc("99999999H"), Some(Duration::from_secs(359_999_996_400)));
    }

    #[test]
    fn what_is_no_timeout_says_nothing() {
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
