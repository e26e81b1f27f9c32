//! An answer as a client saw it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use tower_waiting_room::respond::reason_of;
use waiting_room_core::{Reason, Timestamp};

/// An answer that a client received, with its times.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, up to [`LONGEST_BODY`](Self::LONGEST_BODY) bytes.
    pub body: Bytes,
    /// The reason that the layer stated, or `None` if the response has none: for example because
    /// the visitor has a valid pass.
    pub reason: Option<Reason>,
    /// The time at which the request was sent.
    pub sent: Timestamp,
    /// The time at which the whole answer had arrived.
    pub answered: Timestamp,
}

/// The meaning of an answer for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a request is forwarded, waits or is refused")]
pub enum SeenAs {
    /// The application answered.
    Forwarded,
    /// The request was refused: by a limit, by a gate or by the room.
    Refused,
    /// The visitor is in line, and may ask again later.
    Waiting,
}

impl Seen {
    /// The longest body that a client reads, in bytes.
    pub const LONGEST_BODY: usize = 4 << 20;

    pub(crate) fn new(response: Response<Bytes>, sent: Timestamp, answered: Timestamp) -> Self {
        let reason = reason_of(&response).cloned();
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, body, reason, sent, answered }
    }

    /// Returns what the answer means for its client.
    ///
    /// The header `waiting-room` decides, with the `wait` or `refuse` of the layer; without that
    /// header, the reason decides. An answer that has neither counts as refused if its status
    /// is 429, or 503 with `Retry-After`, so answers of other layers are understood too.
    #[must_use]
    pub fn seen_as(&self) -> SeenAs {
        match (self.header("waiting-room"), &self.reason) {
            (Some("wait"), _) => SeenAs::Waiting,
            (Some("refuse"), _) => SeenAs::Refused,
            (Some(_), _) => SeenAs::Forwarded,
            (None, Some(reason)) if reason.to_string().starts_with("refused:") => SeenAs::Refused,
            (None, Some(_)) => SeenAs::Forwarded,
            (None, None) if self.is_turned_away() => SeenAs::Refused,
            (None, None) => SeenAs::Forwarded,
        }
    }

    /// Returns the value of a header, or `None` if the answer lacks it or the value is not ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body as text. Bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the time after which the client may ask again: `Retry-After` or else `Refresh`, in
    /// seconds. `None` if the answer has neither, so that a retry is pointless.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let refresh = || self.header("refresh")?.split(';').next();
        let seconds = self.header(header::RETRY_AFTER.as_str()).or_else(refresh)?;
        seconds.trim().parse().ok().map(Duration::from_secs)
    }

    fn is_turned_away(&self) -> bool {
        let is_busy = self.status == StatusCode::SERVICE_UNAVAILABLE;
        self.status == StatusCode::TOO_MANY_REQUESTS || is_busy && self.retry_after().is_some()
    }
}
