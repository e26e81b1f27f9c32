//! The answer for a program that takes JSON.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use jiff::fmt::{StdIoWrite, temporal::DateTimePrinter};
use serde::{Serialize, Serializer};
use waiting_room_core::{Timestamp, Wait};

use super::{
    Answer, Message, Outcome,
    cloudflare::CfWaitingRoom,
    response::{Failure, of_type},
};

/// The answer as JSON: our object, and Cloudflare's.
pub(super) fn response(answer: &Answer) -> Result<Response<Bytes>, Failure> {
    // Measured: a little over 1 KiB, and no more than 2 with the sentences.
    let mut body = Vec::with_capacity(if answer.is_poll { 2048 } else { 1280 });
    body.extend_from_slice(b"{\"waitingRoom\":");
    serde_json::to_writer(&mut body, &WaitingRoom::new(answer))?;
    // Where Cloudflare's product says nothing, neither do we: to who is let in, and about what is
    // not a matter of the room, such as a rate limit.
    if answer.is_of_room() && answer.outcome != Outcome::Admit {
        body.extend_from_slice(b",\"cfWaitingRoom\":");
        CfWaitingRoom::new(answer).write(&mut body);
    }
    body.push(b'}');
    Ok(of_type("application/json", body))
}

/// Our own object. A field that does not apply is `null`; only the token is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitingRoom<'a> {
    room: &'a str,
    status: &'static str,
    #[serde(serialize_with = "display")]
    reason: &'a waiting_room_core::Reason,
    position: Option<u32>,
    wait_seconds: Option<WaitSeconds>,
    retry_after_seconds: Option<u64>,
    waiting_since: Option<Iso>,
    now: Iso,
    place_kept_for_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    /// The sentences for the waiting page's script; a program has no use for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

impl<'a> WaitingRoom<'a> {
    pub(super) fn new(answer: &'a Answer) -> Self {
        Self {
            room: &answer.room,
            status: match answer.outcome {
                Outcome::Admit => "admitted",
                Outcome::Refuse => "refused",
                Outcome::Wait => "waiting",
            },
            reason: &answer.reason,
            position: answer.position,
            wait_seconds: answer.wait.map(WaitSeconds::new),
            retry_after_seconds: answer.retry_after_seconds(),
            waiting_since: answer.waiting_since.map(Iso),
            now: Iso(answer.now),
            place_kept_for_seconds: answer.is_placed.then_some(answer.place_retention.as_secs()),
            token: answer.token.as_deref(),
            message: answer.is_poll.then(|| answer.message()),
        }
    }
}

/// A wait and its range, in whole seconds.
#[derive(Serialize)]
pub(super) struct WaitSeconds {
    p25: u64,
    p50: u64,
    p75: u64,
}

impl WaitSeconds {
    pub(super) fn new(wait: Wait) -> Self {
        let Wait { p25, p50, p75, .. } = wait;
        let [p25, p50, p75] = [p25, p50, p75].map(|it: Duration| it.as_secs());
        Self { p25, p50, p75 }
    }
}

/// A point in time as ISO 8601 has it: `2026-11-21T08:00:00.000Z`.
pub(super) struct Iso(pub(super) Timestamp);

impl Iso {
    pub(super) const LEN: usize = "2026-11-21T08:00:00.000Z".len();

    /// The text, in `buffer`. The years of a [`Timestamp`] have four digits.
    pub(super) fn format<'a>(&self, buffer: &'a mut [u8; Self::LEN]) -> &'a str {
        let nanos = i128::from(self.0.as_nanos());
        let time = jiff::Timestamp::from_nanosecond(nanos).unwrap_or(jiff::Timestamp::MAX);
        let mut rest = &mut buffer[..];
        let printer = DateTimePrinter::new().precision(Some(3));
        let is_written = printer.print_timestamp(&time, StdIoWrite(&mut rest)).is_ok();
        let text = std::str::from_utf8(buffer).ok().filter(|_| is_written);
        text.unwrap_or("1970-01-01T00:00:00.000Z")
    }
}

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.format(&mut [0; Self::LEN]))
    }
}

fn display<T: std::fmt::Display, S: Serializer>(it: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(it)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use waiting_room_core::Reason;

    use super::*;
    use crate::respond::sample;

    fn parsed(answer: &Answer) -> Value {
        serde_json::from_slice(response(answer).unwrap().body()).unwrap()
    }

    #[test]
    fn our_object_has_all_the_facts() {
        assert_eq!(
            parsed(&sample::placed())["waitingRoom"],
            json!({
                "room": "shop",
                "status": "waiting",
                "reason": "queued:active_limit",
                "position": 12,
                "waitSeconds": { "p25": 250, "p50": 330, "p75": 400 },
                "retryAfterSeconds": 9,
                "waitingSince": "2026-11-21T07:57:30.000Z",
                "now": "2026-11-21T08:00:00.000Z",
                "placeKeptForSeconds": 300,
            })
        );
    }

    #[test]
    fn the_sentences_are_for_the_pages_script() {
        let answer = Answer { is_poll: true, ..sample::placed() };
        let message = &parsed(&answer)["waitingRoom"]["message"];
        assert_eq!(message["position"], "You are number 12 in line");
        assert_eq!(message["wait"], "Estimated wait: about 4 to 7 minutes.");
        assert_eq!(message["again"], Value::Null);
    }

    #[test]
    fn the_token_is_there_only_for_a_client_without_cookies() {
        let answer = Answer { token: Some("sealed".to_owned()), ..sample::placed() };
        assert_eq!(parsed(&answer)["waitingRoom"]["token"], "sealed");
        assert_eq!(parsed(&sample::placed())["waitingRoom"].get("token"), None);
    }

    #[test]
    fn cloudflares_object_is_there_only_for_who_waits_for_the_room() {
        let has = |answer: &Answer| parsed(answer).get("cfWaitingRoom").is_some();
        assert!(has(&sample::placed()));
        assert!(has(&sample::refusal(Reason::RefusedReject)));
        assert!(!has(&sample::refusal(Reason::RefusedRate("per_ip".into()))));
        assert!(!has(&Answer { outcome: Outcome::Admit, ..sample::placed() }));
    }

    #[test]
    fn the_last_point_in_time_can_be_told() {
        let answer = Answer { now: Timestamp::MAX, ..sample::placed() };
        assert_eq!(parsed(&answer)["waitingRoom"]["now"], "2554-07-21T23:34:33.709Z");
    }
}
