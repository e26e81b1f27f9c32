//! An answer as a visitor sees it.

use std::time::Duration;

use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, REFRESH, RETRY_AFTER, SET_COOKIE},
};
use serde::Deserialize;
use tower_waiting_room::{respond::REASON_HEADER, time::Timestamp, token::TOKEN_HEADER};
use waiting_room_sim::ShownPosition;

use crate::draw::{EventNotice, digits};

/// The meaning of an answer for the visitor.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The visitor is admitted. The body of the response is the requested page.
    Admitted(Response),
    /// A rate limit refuses the request. The place of the visitor does not change.
    Limited { retry_after: Option<Duration> },
    /// A proxy in front of the shop answers that no server is available.
    Nobody,
    /// The room refuses the visitor.
    Refused { retry_after: Option<Duration>, gave_token: bool },
    /// The visitor has to wait.
    Waiting(Notice),
}

/// The content of an answer that asks a visitor to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The time after which the visitor is asked to return.
    pub(crate) interval: Duration,
    pub(crate) waiting_since: Option<Timestamp>,
    pub(crate) position: ShownPosition,
    /// Whether a token came with the answer.
    pub(crate) gave_token: bool,
    pub(crate) basis: Basis,
    /// The facts about an event, if there is one.
    pub(crate) event: Option<EventNotice>,
}

/// The basis of an answer that asks a visitor to wait. A room reports that an answer is not a
/// decision only with the debug header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The decision of the room.
    Decision,
    /// The overload of a node, which has more calls to make than the store can process in time.
    Overload,
    /// An outage of the store.
    Outage,
}

impl Basis {
    fn of(headers: &HeaderMap) -> Self {
        match headers.get(REASON_HEADER).map(|reason| reason.as_bytes()) {
            Some(b"store_unavailable") => Self::Outage,
            Some(b"queued:store_busy") => Self::Overload,
            _ => Self::Decision,
        }
    }
}

impl Answer {
    /// Reads the head of an answer, and its body if the answer asks the visitor to wait.
    ///
    /// The header `waiting-room` distinguishes the answers of the room from those of the shop.
    pub(crate) async fn read(response: Response) -> Result<Self, reqwest::Error> {
        let headers = response.headers();
        let gave_token = headers.contains_key(SET_COOKIE) || headers.contains_key(TOKEN_HEADER);
        match headers.get(OUTCOME).map(|outcome| outcome.as_bytes()) {
            None if UNSERVED.contains(&response.status()) => Ok(Self::Nobody),
            None | Some(b"refuse") if is_limited(headers) => {
                Ok(Self::Limited { retry_after: retry_after(headers) })
            }
            None | Some(b"admit") => {
                // The shop itself has failed. A redirection after a POST is not a failure.
                let status = response.status();
                if status.is_client_error() || status.is_server_error() {
                    tracing::error!(%status, url = %response.url(), "not served");
                }
                Ok(Self::Admitted(response))
            }
            Some(b"wait") => {
                let interval = refresh(headers).or(retry_after(headers)).unwrap_or(UNTOLD);
                let is_json =
                    headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
                let basis = Basis::of(headers);
                let body = response.text().await?;
                let (waiting_since, position, event) = if is_json {
                    told_by_json(&body)
                } else {
                    (None, told_by_page(&body), EventNotice::of_page(&body))
                };
                let notice = Notice { interval, waiting_since, position, gave_token, basis, event };
                Ok(Self::Waiting(notice))
            }
            Some(_) => {
                let retry_after = retry_after(headers);
                response.bytes().await?;
                Ok(Self::Refused { retry_after, gave_token })
            }
        }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// The time after which a browser reloads the page: `12`, or `12; url=…`.
fn refresh(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(REFRESH)?.to_str().ok()?.split([';', ',']).next()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Returns whether a rate limit refused the request, according to the debug header.
fn is_limited(headers: &HeaderMap) -> bool {
    let limits: [&[u8]; 2] = [b"refused:rate:", b"refused:too_often"];
    let reason = headers.get(REASON_HEADER).map_or(&b""[..], |reason| reason.as_bytes());
    limits.iter().any(|limit| reason.starts_with(limit))
}

/// The start of the wait, the position, and the facts about an event in a JSON answer.
fn told_by_json(body: &str) -> (Option<Timestamp>, ShownPosition, Option<EventNotice>) {
    let Ok(Document { room }) = serde_json::from_str(body) else {
        return (None, ShownPosition::None, None);
    };
    let position = match room.position {
        Some(_) if room.is_approximate => ShownPosition::Approximate,
        Some(position) => ShownPosition::Exact(position),
        None => ShownPosition::None,
    };
    (room.waiting_since.and_then(|at| at.parse().ok()), position, room.event)
}

/// The position that the waiting page shows in its headline.
fn told_by_page(body: &str) -> ShownPosition {
    match body.split_once("id=\"position\"") {
        Some((_, headline)) if headline.starts_with(" data-approximate") => {
            ShownPosition::Approximate
        }
        Some((_, headline)) => large(headline).map_or(ShownPosition::None, ShownPosition::Exact),
        None => ShownPosition::None,
    }
}

/// Parses the number in the headline, which may contain separators: `1,234`.
fn large(headline: &str) -> Option<u32> {
    let (headline, _) = headline.split_once("</h1>")?;
    let (_, number) = headline.split_once("<b")?;
    let (number, _) = number.split_once('>')?.1.split_once("</b>")?;
    digits(number)
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "waitingRoom")]
    room: Room,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Room {
    waiting_since: Option<String>,
    position: Option<u32>,
    #[serde(default)]
    is_approximate: bool,
    event: Option<EventNotice>,
}

const OUTCOME: &str = "waiting-room";

/// The statuses with which a balancer reports that no server answers.
const UNSERVED: [StatusCode; 3] =
    [StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];

/// The time after which a visitor returns if the answer contains no time.
const UNTOLD: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_read_from_the_page_and_from_the_json() {
        let page = "<h1 id=\"position\"><span>You are number </span><b class=\"long\">12,345</b>\
                    <span> in line</span></h1><p><b>7</b></p>";
        assert_eq!(told_by_page(page), ShownPosition::Exact(12_345));
        let about = page.replacen("\"position\"", "\"position\" data-approximate", 1);
        assert_eq!(told_by_page(&about), ShownPosition::Approximate);
        let none = told_by_page("<h1 id=\"position\">You are almost in line</h1><b>7</b>");
        assert_eq!(none, ShownPosition::None);
        let json = r#"{"waitingRoom":{"position":4,"waitingSince":"2026-11-21T08:00:00.250Z"}}"#;
        let since = Timestamp::from_millis(1_795_248_000_250);
        assert_eq!(told_by_json(json), (Some(since), ShownPosition::Exact(4), None));
        assert_eq!(told_by_json("{}"), (None, ShownPosition::None, None));
    }

    #[test]
    fn an_answer_without_a_decision_is_recognized_by_its_reason() {
        for (reason, basis) in [
            ("queued:active_limit", Basis::Decision),
            ("queued:store_busy", Basis::Overload),
            ("store_unavailable", Basis::Outage),
        ] {
            let headers = HeaderMap::from_iter([(REASON_HEADER, reason.parse().unwrap())]);
            assert_eq!(Basis::of(&headers), basis, "{reason}");
        }
        assert_eq!(Basis::of(&HeaderMap::new()), Basis::Decision);
    }

    #[test]
    fn a_browser_reads_the_refresh_with_or_without_an_address() {
        let refreshed = |value: &'static str| {
            refresh(&HeaderMap::from_iter([(REFRESH, value.parse().unwrap())]))
        };
        assert_eq!(refreshed("12"), Some(Duration::from_secs(12)));
        assert_eq!(refreshed("12; url=/"), Some(Duration::from_secs(12)));
        assert_eq!(refreshed("soon"), None);
    }
}
