//! The answer in JSON, for programs that wait in line and for the script of the waiting page.
//!
//! ```text
//! { "waitingRoom":   { the object of this crate },
//!   "cfWaitingRoom": { the object of Cloudflare Waiting Room } }
//! ```
//!
//! The second object is part of the answer only if `JsonProfile::Cloudflare` is configured.
//!
//! Clients request this answer every few seconds, so both objects are written without serde. The fields are documented
//! in `docs/answers.md`.

use bytes::Bytes;
use http::Response;
use waiting_room_core::Timestamp;

use super::{
    Answer, Outcome,
    answer::WaitSeconds,
    cloudflare::{CfWaitingRoom, field},
    headers::{Failure, of_type},
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
    let mut body = Vec::with_capacity(USUAL_LEN);
    body.extend_from_slice(b"{\"waitingRoom\":");
    write_waiting_room(answer, &mut body)?;
    if answer.has_cloudflare_object() {
        body.extend_from_slice(b",\"cfWaitingRoom\":");
        CfWaitingRoom::new(answer).write(&mut body);
    }
    body.push(b'}');
    Ok(body.into())
}

/// Appends the `waitingRoom` object. Fields that do not apply are `null`, except for `isApproximate`,
/// `event`, `push`, `token` and `message`, which are left out.
///
/// # Errors
///
/// Returns an error if serialization fails, which is not expected.
pub(super) fn write_waiting_room(answer: &Answer, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut number = itoa::Buffer::new();
    out.extend_from_slice(b"{\"room\":");
    text(&answer.room, out)?;
    let status = match answer.outcome {
        Outcome::Admit => "admitted",
        Outcome::Refuse => "refused",
        Outcome::Wait => "waiting",
    };
    field(out, ",\"status\":\"", status);
    out.extend_from_slice(b"\",\"reason\":");
    match answer.reason.constant() {
        Some(reason) => {
            field(out, "\"", reason);
            out.push(b'"');
        }
        // A reason with a name may have to be escaped.
        None => text(&answer.reason.to_string(), out)?,
    }
    let position = answer.position.map_or("null", |place| number.format(place));
    field(out, ",\"position\":", position);
    let ahead = answer.ahead.map_or("null", |visitors| number.format(visitors));
    field(out, ",\"ahead\":", ahead);
    if answer.is_approximate {
        out.extend_from_slice(b",\"isApproximate\":true");
    }
    match answer.wait.map(WaitSeconds::new) {
        None => out.extend_from_slice(b",\"waitSeconds\":null"),
        Some(wait) => write_wait(&wait, out),
    }
    let retry_after = answer.retry_after_seconds();
    let retry_after = retry_after.map_or("null", |seconds| number.format(seconds));
    field(out, ",\"retryAfterSeconds\":", retry_after);
    match answer.waiting_since {
        None => out.extend_from_slice(b",\"waitingSince\":null"),
        Some(since) => write_time(b",\"waitingSince\":\"", since, out),
    }
    // The time of the decision, so that a client does not have to trust its own clock.
    write_time(b",\"now\":\"", answer.now, out);
    let kept = answer.is_placed.then_some(answer.place_retention.as_secs());
    let kept = kept.map_or("null", |seconds| number.format(seconds));
    field(out, ",\"placeKeptForSeconds\":", kept);
    if let Some(event) = &answer.event {
        out.extend_from_slice(b",\"event\":");
        serde_json::to_writer(&mut *out, event)?;
    }
    // The path contains no character that has to be escaped.
    if let Some(push) = &answer.push {
        field(out, ",\"push\":\"", push);
        out.push(b'"');
    }
    if let Some(token) = &answer.token {
        out.extend_from_slice(b",\"token\":");
        text(token, out)?;
    }
    // Only the script of the waiting page has a use for sentences.
    if answer.is_poll {
        out.extend_from_slice(b",\"message\":");
        serde_json::to_writer(&mut *out, &answer.message())?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends the percentiles of the expected wait.
fn write_wait(WaitSeconds { p25, p50, p75 }: &WaitSeconds, out: &mut Vec<u8>) {
    let mut number = itoa::Buffer::new();
    field(out, ",\"waitSeconds\":{\"p25\":", number.format(*p25));
    field(out, ",\"p50\":", number.format(*p50));
    field(out, ",\"p75\":", number.format(*p75));
    out.push(b'}');
}

/// Appends a point in time, after the name of its field.
fn write_time(name: &[u8], time: Timestamp, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(time.write_iso(&mut [0; Timestamp::ISO_LEN]).as_bytes());
    out.push(b'"');
}

/// The space that is reserved for an answer in advance, in bytes. Most answers are shorter.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};
    use waiting_room_core::Reason;

    use super::*;
    use crate::respond::{JsonProfile, iso::Iso, sample};

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
    fn every_text_is_escaped_and_every_fact_is_read_back() {
        let names = ["shop", "Tom & \"Jerry\"", "\\ \u{e9}\n"];
        for answer in sample::answers() {
            for name in names {
                let reason = Reason::RefusedRate(name.into());
                let token = Some(format!("{name}=sealed"));
                let push = Some("/events".into());
                let answer = Answer {
                    room: name.into(),
                    reason,
                    push,
                    token,
                    is_poll: true,
                    ..answer.clone()
                };
                let object = &parsed(&answer)["waitingRoom"];
                let message = serde_json::to_value(answer.message()).unwrap();
                let event = answer.event.as_ref().map(|event| serde_json::to_value(event).unwrap());
                assert_eq!(object["room"], name);
                assert_eq!(object["reason"], format!("refused:rate:{name}"));
                assert_eq!(object["position"], json!(answer.position));
                assert_eq!(object["ahead"], json!(answer.ahead));
                assert_eq!(object["retryAfterSeconds"], json!(answer.retry_after_seconds()));
                assert_eq!(object["waitingSince"], json!(answer.waiting_since.map(Iso)));
                assert_eq!(object["waitSeconds"], json!(answer.wait.map(WaitSeconds::new)));
                assert_eq!(object["push"], "/events");
                assert_eq!(object["token"], format!("{name}=sealed"));
                assert_eq!(object["message"], message);
                assert_eq!(object.get("event"), event.as_ref());
                assert_eq!(object.get("isApproximate").is_some(), answer.is_approximate);
            }
        }
    }

    #[test]
    fn the_docs_list_the_fields_of_the_object() {
        let page = include_str!("../../../../docs/answers.md");
        let (_, table) = page.split_once("| field of `waitingRoom` |").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let cells = table.lines().filter_map(|row| row.split(" | ").next());
        let listed = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
        let fields = sample::answers().flat_map(|answer| {
            let [push, token] = ["/events", "sealed"].map(|text| Some(text.to_owned()));
            let push = push.map(Into::into);
            let answer = Answer { push, token, is_poll: true, is_approximate: true, ..answer };
            parsed(&answer)["waitingRoom"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        });
        assert_eq!(listed.collect::<BTreeSet<_>>(), fields.collect());
    }

    #[test]
    fn the_sentences_are_sent_to_the_script_of_the_page_only() {
        let answer = Answer { is_poll: true, ..sample::placed() };
        let message = &parsed(&answer)["waitingRoom"]["message"];
        assert_eq!(message["position"], "You are number 12 in line");
        assert_eq!(message["wait"], "Estimated wait: about 4 to 7 minutes.");
        assert_eq!(message["again"], Value::Null);
    }

    #[test]
    fn the_token_is_included_only_for_a_client_without_cookies() {
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
    fn cloudflares_object_is_included_only_for_the_room_and_if_configured() {
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
