//! What else there is to choose about a gate.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use waiting_room_core::{ConfigError, ConfigErrorKind};

/// For how long a request holds its permit. A [`PermitHandle`](super::PermitHandle) that the
/// application keeps holds it for longer in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReleaseAt {
    /// Until the last frame of the response's body has been handed to the server, or the body is
    /// dropped.
    #[default]
    BodyEnd,
    /// Until the head of the response is there, as tower's limit does. The bodies are then not
    /// limited.
    Head,
}

/// Which status a request gets that is not let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GateStatuses {
    /// 429 where there is no room, 504 without `Retry-After` for who has waited too long, and 503 while
    /// the gate is being emptied.
    #[default]
    Limiter,
    /// 503 in every case that no single client is to blame for, so 429 at a gate for each value of a
    /// key: as an origin server answers that stands behind proxies which repeat or count a 504. Each
    /// says when to come back, unless the gate is being emptied.
    Origin,
}

/// A header in which clients say for how long they wait.
///
/// Nobody gains by a lie: who says less is refused sooner, and nobody waits for longer than the gate
/// has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientDeadline {
    /// `grpc-timeout`, in the units of the gRPC protocol. Always looked at.
    Grpc,
    /// A header with a number of milliseconds, such as `x-envoy-expected-rq-timeout-ms`.
    Millis(String),
    /// A header with a number of seconds.
    Seconds(String),
}

impl ClientDeadline {
    /// The time that a request has, if it says so.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Duration> {
        match self {
            Self::Grpc => grpc_timeout(text(headers, "grpc-timeout")?),
            Self::Millis(name) => number(text(headers, name)?).map(Duration::from_millis),
            Self::Seconds(name) => number(text(headers, name)?).map(Duration::from_secs),
        }
    }

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

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Digits alone: what `parse` takes beside them, such as a sign, is no number of a header.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// At most eight digits and a unit, as the protocol of gRPC over HTTP/2 has it.
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
