//! The answer as a problem document (RFC 9457).
//!
//! With the types that `draft-ietf-httpapi-ratelimit-headers-11` §5 registers, since every answer
//! here is about a quota or about capacity.

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use waiting_room_core::Reason;

use super::{
    Answer, Message,
    json::WaitingRoom,
    response::{Failure, of_type},
};

/// The answer as `application/problem+json`.
pub(super) fn response(answer: &Answer) -> Result<Response<Bytes>, Failure> {
    Ok(of_type("application/problem+json", serde_json::to_vec(&Problem::new(answer))?))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Problem<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(rename = "violated-policies", skip_serializing_if = "Option::is_none")]
    violated_policies: Option<[&'a str; 1]>,
    waiting_room: WaitingRoom<'a>,
}

impl<'a> Problem<'a> {
    fn new(answer: &'a Answer) -> Self {
        let policy = match &answer.reason {
            Reason::RefusedRate(policy) => Some(&**policy),
            _ => None,
        };
        let (r#type, title) = if policy.is_some() { QUOTA_EXCEEDED } else { REDUCED_CAPACITY };
        Self {
            r#type,
            title,
            status: answer.status.as_u16(),
            detail: Message::paragraph(answer),
            violated_policies: policy.map(|policy| [policy]),
            waiting_room: WaitingRoom::new(answer),
        }
    }
}

const QUOTA_EXCEEDED: (&str, &str) = (
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "Request cannot be satisfied as assigned quota has been exceeded",
);

const REDUCED_CAPACITY: (&str, &str) = (
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    "Request cannot be satisfied due to temporary server capacity constraints",
);
