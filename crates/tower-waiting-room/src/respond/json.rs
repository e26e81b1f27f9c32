//! The answer in JSON, for programs that wait in line and for the script of the waiting page.
//!
//! ```text
//! { "waitingRoom":   { the object of this crate },
//!   "cfWaitingRoom": { the object of Cloudflare Waiting Room } }
//! ```
//!
//! The second object is part of the answer only if `JsonProfile::Cloudflare` is configured.
//!
//! Clients request this answer every few seconds, so both objects are written without serde, into a
//! buffer that each thread keeps. The fields are documented in `docs/answers.md`.

use std::cell::RefCell;

use bytes::Bytes;
use http::Response;
use serde::{Serialize, Serializer};
use waiting_room_core::Reason;

use super::{
    Answer, EventFacts, Message, Outcome,
    answer::WaitSeconds,
    cloudflare::{CfWaitingRoom, field},
    headers::{Failure, of_type},
    iso::Iso,
};

/// Renders the answer as JSON.
///
/// # Errors
///
/// Returns an error if serialization fails, which is not expected: the objects consist of strings,
/// numbers and booleans.
pub(super) fn response(answer: &Answer) -> Result<Response<Bytes>, Failure> {
    Ok(of_type("application/json", body(answer)?))
}

/// Renders the body alone, without headers.
///
/// # Errors
///
/// Returns an error under the same condition as [`response`].
pub(super) fn body(answer: &Answer) -> Result<Bytes, Failure> {
    BUFFER.with_borrow_mut(|body| {
        body.clear();
        body.extend_from_slice(b"{\"waitingRoom\":");
        WaitingRoom::new(answer).write(body)?;
        if answer.has_cloudflare_object() {
            body.extend_from_slice(b",\"cfWaitingRoom\":");
            CfWaitingRoom::new(answer).write(body);
        }
        body.push(b'}');
        // A copy of the right length needs one allocation, and a vector with room to spare two.
        Ok(Bytes::copy_from_slice(body))
    })
}

thread_local! {
    /// The buffer in which this thread writes answers. An answer is at most a few KiB long.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The `waitingRoom` object. Fields that do not apply are `null`, except for `isApproximate`,
/// `event`, `push`, `token` and `message`, which are left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitingRoom<'a> {
    /// The name of the room.
    room: &'a str,
    /// `admitted`, `refused` or `waiting`.
    status: &'static str,
    /// The reason in its stable form, such as `queued:active_limit`.
    #[serde(serialize_with = "display")]
    reason: &'a Reason,
    /// The place in line, starting at 1.
    position: Option<u32>,
    /// The number of visitors ahead.
    ahead: Option<u32>,
    /// Whether `position` and `ahead` are approximate. Left out if they are not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_approximate: bool,
    /// The expected wait: its 25th, 50th and 75th percentiles.
    wait_seconds: Option<WaitSeconds>,
    /// The number of seconds in `Retry-After`, or `null` if no retry can succeed.
    retry_after_seconds: Option<u64>,
    /// The time of the visitor's first request.
    waiting_since: Option<Iso>,
    /// The time of the decision, so that a client does not have to trust its own clock.
    now: Iso,
    /// The time for which the place is kept after the last check-in, or `null` if the visitor has
    /// no place.
    place_kept_for_seconds: Option<u64>,
    /// The event that takes place, in its prequeue or after its start. Left out without an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a EventFacts>,
    /// The path of the push streams. Left out if there is no push.
    #[serde(skip_serializing_if = "Option::is_none")]
    push: Option<&'a str>,
    /// The value of the token header, for clients that do not store cookies.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    /// The sentences of the answer, only for the script of the waiting page. Other programs have no
    /// use for the sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

impl<'a> WaitingRoom<'a> {
    /// Creates the object for an answer.
    #[inline]
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
            ahead: answer.ahead,
            is_approximate: answer.is_approximate,
            wait_seconds: answer.wait.map(WaitSeconds::new),
            retry_after_seconds: answer.retry_after_seconds(),
            waiting_since: answer.waiting_since.map(Iso),
            now: Iso(answer.now),
            place_kept_for_seconds: answer.is_placed.then_some(answer.place_retention.as_secs()),
            event: answer.event.as_deref(),
            push: answer.push.as_deref(),
            token: answer.token.as_deref(),
            message: answer.is_poll.then(|| answer.message()),
        }
    }

    /// Writes the object, with the same result as serde in a fifth of the time. A test compares the
    /// two results.
    ///
    /// # Errors
    ///
    /// Returns an error if serialization fails, which is not expected.
    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut number = itoa::Buffer::new();
        out.reserve(USUAL_LEN);
        out.extend_from_slice(b"{\"room\":");
        text(self.room, out)?;
        field(out, ",\"status\":\"", self.status);
        out.extend_from_slice(b"\",\"reason\":");
        match self.reason.constant() {
            Some(reason) => {
                field(out, "\"", reason);
                out.push(b'"');
            }
            // A reason with a name may have to be escaped.
            None => text(&self.reason.to_string(), out)?,
        }
        field(out, ",\"position\":", self.position.map_or("null", |it| number.format(it)));
        field(out, ",\"ahead\":", self.ahead.map_or("null", |it| number.format(it)));
        if self.is_approximate {
            out.extend_from_slice(b",\"isApproximate\":true");
        }
        match &self.wait_seconds {
            None => field(out, ",\"waitSeconds\":", "null"),
            Some(WaitSeconds { p25, p50, p75 }) => {
                field(out, ",\"waitSeconds\":{\"p25\":", number.format(*p25));
                field(out, ",\"p50\":", number.format(*p50));
                field(out, ",\"p75\":", number.format(*p75));
                out.push(b'}');
            }
        }
        let retry_after = self.retry_after_seconds;
        let retry_after = retry_after.map_or("null", |value| number.format(value));
        field(out, ",\"retryAfterSeconds\":", retry_after);
        match &self.waiting_since {
            None => field(out, ",\"waitingSince\":", "null"),
            Some(since) => {
                out.extend_from_slice(b",\"waitingSince\":\"");
                out.extend_from_slice(&since.bytes());
                out.push(b'"');
            }
        }
        out.extend_from_slice(b",\"now\":\"");
        out.extend_from_slice(&self.now.bytes());
        let kept = self.place_kept_for_seconds;
        let kept = kept.map_or("null", |value| number.format(value));
        field(out, "\",\"placeKeptForSeconds\":", kept);
        if let Some(event) = self.event {
            out.extend_from_slice(b",\"event\":");
            serde_json::to_writer(&mut *out, event)?;
        }
        // The path contains no character that has to be escaped.
        if let Some(push) = self.push {
            field(out, ",\"push\":\"", push);
            out.push(b'"');
        }
        if let Some(token) = self.token {
            out.extend_from_slice(b",\"token\":");
            text(token, out)?;
        }
        if let Some(message) = &self.message {
            out.extend_from_slice(b",\"message\":");
            serde_json::to_writer(&mut *out, message)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// The room that is made for an answer at once, in bytes. Most answers are shorter.
const USUAL_LEN: usize = 512;

/// Appends a string in the form of a JSON string.
///
/// # Errors
///
/// Returns an error if serialization fails, which is not expected.
fn text(text: &str, out: &mut Vec<u8>) -> Result<(), Failure> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return Ok(());
    }
    Ok(serde_json::to_writer(out, text)?)
}

/// Serializes a value as its [`Display`](std::fmt::Display) text.
pub(super) fn display<T: std::fmt::Display, S: Serializer>(
    it: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(it)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::respond::{JsonProfile, sample};

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
                "ahead": 11,
                "waitSeconds": { "p25": 250, "p50": 330, "p75": 400 },
                "retryAfterSeconds": 9,
                "waitingSince": "2026-11-21T07:57:30.000Z",
                "now": "2026-11-21T08:00:00.000Z",
                "placeKeptForSeconds": 300,
            })
        );
    }

    #[test]
    fn what_is_written_is_what_serde_writes() {
        let names = ["shop", "Tom & \"Jerry\"", "\\ \u{e9}"];
        for answer in sample::answers() {
            for (name, is_poll) in names.into_iter().flat_map(|it| [(it, false), (it, true)]) {
                let reason = if let Reason::RefusedRate(_) = answer.reason {
                    Reason::RefusedRate(name.into())
                } else {
                    answer.reason.clone()
                };
                let token = is_poll.then(|| format!("{name}=sealed"));
                let push = is_poll.then(|| "/events".into());
                let answer =
                    Answer { room: name.into(), reason, is_poll, push, token, ..answer.clone() };
                let (mut written, object) = (Vec::new(), WaitingRoom::new(&answer));
                object.write(&mut written).unwrap();
                let expected = serde_json::to_string(&object).unwrap();
                assert_eq!(String::from_utf8(written).unwrap(), expected);
            }
        }
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
    fn a_compact_answer_is_short() {
        for (answer, most) in [(sample::placed(), 300), (sample::lottery(), 300)] {
            assert!(body(&answer).unwrap().len() <= most, "{:?}", body(&answer).unwrap());
        }
        let approximate = Answer { is_approximate: true, ..sample::placed() };
        assert_eq!(parsed(&approximate)["waitingRoom"]["isApproximate"], true);
    }

    #[test]
    fn cloudflares_object_is_there_only_where_it_is_configured_and_for_the_room() {
        let is_in = |answer: &Answer| parsed(answer).get("cfWaitingRoom").is_some();
        assert!(!is_in(&sample::placed()));
        let has =
            |answer: &Answer| is_in(&Answer { json: JsonProfile::Cloudflare, ..answer.clone() });
        assert!(has(&sample::placed()));
        assert!(!has(&sample::refusal(Reason::RefusedLimitsUnavailable)));
        assert!(has(&sample::refusal(Reason::RefusedReject)));
        assert!(!has(&sample::refusal(Reason::RefusedRate("per_ip".into()))));
        assert!(!has(&Answer { outcome: Outcome::Admit, ..sample::placed() }));
    }
}
