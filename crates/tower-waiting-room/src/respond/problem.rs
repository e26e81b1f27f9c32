//! The answer as a problem document (RFC 9457).
//!
//! All refusals have the same kind of document, so a program can read all of them in the same way
//! (see `docs/design/018-one-document-for-refusals.md`). The type of the document depends on the
//! reason:
//!
//! | reason | type |
//! |---|---|
//! | a rate limit is exceeded | `…#quota-exceeded` |
//! | the client or server must be corrected, or a ticket is presented too often | `about:blank` |
//! | any other reason: capacity is lacking | `…#temporary-reduced-capacity` |
//!
//! The two named types are registered by `draft-ietf-httpapi-ratelimit-headers-11` section 5.

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use waiting_room_core::Reason;

use super::{
    Answer, Message,
    cloudflare::CfWaitingRoom,
    headers::{Failure, of_type},
    json::write_waiting_room,
};
use crate::{
    misconfiguration::Misconfiguration, rate_headers::QUOTA_EXCEEDED, request::ClientKind,
};

/// Renders the answer as `application/problem+json`.
///
/// # Errors
///
/// Returns an error if serialization fails, which is not expected: the document consists of
/// strings, numbers and booleans.
pub(super) fn response(answer: &Answer) -> Result<Response<Bytes>, Failure> {
    Ok(of_type(CONTENT_TYPE, document(answer)?))
}

/// Renders only the document, without headers.
///
/// # Errors
///
/// Returns an error under the same condition as [`response`].
pub(super) fn document(answer: &Answer) -> Result<Vec<u8>, Failure> {
    let mut document = serde_json::to_vec(&Problem::new(answer))?;
    if answer.is_of_room() {
        // The facts about the room follow the other members of the object.
        document.pop();
        document.extend_from_slice(b",\"waitingRoom\":");
        write_waiting_room(answer, &mut document)?;
        // Programs that were written for Cloudflare's product accept JSON, not problem documents.
        if answer.has_cloudflare_object() && answer.kind == ClientKind::Json {
            document.extend_from_slice(b",\"cfWaitingRoom\":");
            CfWaitingRoom::new(answer).write(&mut document);
        }
        document.push(b'}');
    }
    Ok(document)
}

/// The media type of a problem document.
pub(super) const CONTENT_TYPE: &str = "application/problem+json";

/// The members of the document. Every refusal has the first five members.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Problem<'a> {
    /// A URI that identifies the kind of problem.
    r#type: &'static str,
    /// A short summary of the problem type, in English. It does not depend on the details of the
    /// answer.
    title: &'static str,
    /// The HTTP status, repeated for programs that see only the document.
    status: u16,
    /// The sentences of the answer, in the language of the client.
    detail: String,
    /// The reason in its stable form, such as `refused:line_full`.
    reason: String,
    /// The names of the limits that are exceeded (draft 11 section 5.1).
    #[serde(rename = "violated-policies", skip_serializing_if = "Option::is_none")]
    violated_policies: Option<Vec<&'a str>>,
}

impl<'a> Problem<'a> {
    /// Creates the document for an answer.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most refusals are of reduced capacity")]
    fn new(answer: &'a Answer) -> Self {
        let (r#type, title) = match &answer.reason {
            // For `about:blank`, the title is the reason phrase of the status (RFC 9457 section
            // 4.2.1).
            Reason::RefusedAddressUnknown
            | Reason::RefusedKeyMissing(_)
            | Reason::RefusedTooOften => {
                ("about:blank", answer.status.canonical_reason().unwrap_or_default())
            }
            Reason::RefusedRate(_) => QUOTA_EXCEEDED,
            _ => REDUCED_CAPACITY,
        };
        Self {
            r#type,
            title,
            status: answer.status.as_u16(),
            detail: detail(answer),
            reason: answer.reason.to_string(),
            violated_policies: if let Reason::RefusedRate(policy) = &answer.reason {
                Some(vec![policy])
            } else {
                None
            },
        }
    }
}

/// Returns the sentences of the answer. If the client or the server has to be corrected, the
/// sentences for visitors do not help, so a hint for the developer or the operator is added.
fn detail(answer: &Answer) -> String {
    let said = Message::paragraph(answer);
    if answer.reason == Reason::RefusedAddressUnknown {
        format!("{said} For the operator: {}.", Misconfiguration::PeerUnknown)
    } else if let Reason::RefusedKeyMissing(policy) = &answer.reason {
        format!("{said} For the developer: the request lacks the key of the limit {policy:?}.")
    } else {
        said
    }
}

/// The type and the title of a capacity problem, as registered by the draft.
const REDUCED_CAPACITY: (&str, &str) = (
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    "Request cannot be satisfied due to temporary server capacity constraints",
);

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::respond::{JsonProfile, Outcome, sample};

    fn parsed(answer: &Answer) -> Value {
        serde_json::from_slice(response(answer).unwrap().body()).unwrap()
    }

    #[test]
    fn waiting_is_a_problem_of_capacity() {
        let problem = parsed(&sample::placed());
        assert_eq!(problem["type"], REDUCED_CAPACITY.0);
        assert_eq!(problem["status"], 503);
        assert_eq!(problem.get("violated-policies"), None);
        assert_eq!(problem["waitingRoom"]["position"], 12);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("You are number 12 in line. Estimated wait: about"), "{detail}");
    }

    #[test]
    fn a_rate_limit_is_a_problem_of_quota_and_names_the_policy() {
        let problem = parsed(&sample::refusal(Reason::RefusedRate("per_ip".into())));
        assert_eq!(problem["type"], QUOTA_EXCEEDED.0);
        assert_eq!(problem["violated-policies"], serde_json::json!(["per_ip"]));
    }

    #[test]
    fn every_refusal_has_the_common_members_and_the_room_adds_its_own() {
        let every = ["detail", "reason", "status", "title", "type"];
        for answer in sample::answers().filter(|answer| answer.outcome == Outcome::Refuse) {
            let kind = ClientKind::Json;
            let json = JsonProfile::Cloudflare;
            let problem = parsed(&Answer { kind, json, ..answer.clone() });
            let mut members: Vec<_> = problem.as_object().unwrap().keys().cloned().collect();
            let besides: Vec<_> =
                members.extract_if(.., |member| !every.contains(&&**member)).collect();
            assert_eq!(members, every, "{}", answer.reason);
            assert_eq!(problem["reason"], answer.reason.to_string());
            if answer.reason == Reason::StoreUnavailable {
                continue;
            }
            let is_of_room = matches!(
                answer.reason,
                Reason::RefusedDraining
                    | Reason::RefusedLineFull
                    | Reason::RefusedNetworkFull
                    | Reason::RefusedReject
            );
            let expected: &[&str] = if let Reason::RefusedRate(_) = answer.reason {
                &["violated-policies"]
            } else if is_of_room {
                &["cfWaitingRoom", "waitingRoom"]
            } else {
                &[]
            };
            assert_eq!(besides, expected, "{}", answer.reason);
        }
    }
}
