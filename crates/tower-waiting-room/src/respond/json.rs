//! The answer for a program that takes JSON and waits in line, and for the script of the page.

use bytes::Bytes;
use http::Response;
use serde::{Serialize, Serializer};

use super::{
    Answer, Message, Outcome,
    answer::{Iso, WaitSeconds},
    cloudflare::CfWaitingRoom,
    headers::{Failure, of_type},
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
    ahead: Option<u32>,
    is_approximate: bool,
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
            ahead: answer.ahead,
            is_approximate: answer.is_approximate,
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

pub(super) fn display<T: std::fmt::Display, S: Serializer>(
    it: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
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
                "ahead": 11,
                "isApproximate": false,
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
        assert!(!has(&sample::refusal(Reason::RefusedLimitsUnavailable)));
        assert!(has(&sample::refusal(Reason::RefusedReject)));
        assert!(!has(&sample::refusal(Reason::RefusedRate("per_ip".into()))));
        assert!(!has(&Answer { outcome: Outcome::Admit, ..sample::placed() }));
    }
}
