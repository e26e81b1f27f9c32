//! The one renderer of the layer's own answers.
//!
//! A program that a limit or a gate refuses is answered cheaply, with what is
//! [prepared](super::prepared). Everything else is told at length, as an [`Answer`] in the form that
//! the client can use.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LENGTH, RETRY_AFTER},
};
use waiting_room_core::{Quota, Reason, RoomRules, Ticket, Timestamp};

use super::{
    Answer, Message, Outcome, Page, Refusal, Statuses, grpc,
    headers::{self, Failure, of_type},
    json,
    prepared::Prepared,
    problem,
};
use crate::{
    rate_headers::{Field, RateHeaders, Report, Told, whole_seconds, write_refused},
    request::{Client, ClientKind, Program, RequestHead},
};

/// The settings of a layer for its answers, and what is prepared of them.
#[derive(Debug)]
pub(crate) struct Responder {
    room: Arc<str>,
    page: Page,
    /// The shape of the user's own, if there is one.
    refusal: Option<Refusal>,
    statuses: Statuses,
    /// The headers that tell of limits.
    fields: &'static [Field],
    prepared: Prepared,
}

/// A request that is answered without the application, and what there is to say to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unforwarded<'a> {
    pub(crate) request: RequestHead<'a>,
    pub(crate) outcome: Outcome,
    pub(crate) reason: &'a Reason,
    pub(crate) about: About<'a>,
    /// When to repeat the request; `None` if that is pointless.
    pub(crate) retry_after: Option<Duration>,
    /// Every policy of a limit or a gate that applied.
    pub(crate) told: &'a [Told<'a>],
    /// The token on its way to a client that keeps no cookies.
    pub(crate) token: Option<&'a str>,
    pub(crate) now: Timestamp,
}

/// What an answer is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About<'a> {
    /// A gate that has no permit for the request, which is answered with this status.
    Gate(StatusCode),
    /// A limit that the request exceeds.
    Limit,
    /// The pace at which a ticket may be shown, which the request exceeds.
    Pace,
    /// The line, and perhaps a place in it.
    Room(&'a RoomRules, Option<&'a Ticket>),
    /// Anything else, with this status.
    Service(StatusCode),
}

impl Responder {
    pub(crate) fn new(
        room: Arc<str>,
        page: Page,
        refusal: Option<Refusal>,
        statuses: Statuses,
        profile: RateHeaders,
    ) -> Self {
        let (fields, prepared) = (profile.fields(), Prepared::new(profile));
        Self { room, page, refusal, statuses, fields, prepared }
    }

    /// Answers a request.
    pub(crate) fn respond(&self, it: &Unforwarded<'_>) -> Response<Bytes> {
        if let Some(refusal) = &self.refusal
            && let Some(shaped) = self.shaped(refusal, it)
        {
            return shaped;
        }
        let headers = it.request.headers();
        match (it.about, Program::of(headers)) {
            (About::Limit, Some(program)) => self.prepared.over_limit(it, program),
            (About::Gate(status), Some(program)) => {
                let prepared = self.prepared.at_gate(status, it, program);
                prepared.unwrap_or_else(|| self.respond_at_length(it))
            }
            (About::Pace, Some(_)) => too_often(it, problem::CONTENT_TYPE, TOO_OFTEN_PROBLEM),
            (About::Pace, None) if ClientKind::of(headers) != ClientKind::Grpc => {
                too_often(it, "text/plain; charset=utf-8", TOO_OFTEN)
            }
            _ => self.respond_at_length(it),
        }
    }

    /// Answers a request in the shape of the user's own, if that is one for it. Apart from the
    /// cheap answer, which must not pay for the room that this one takes.
    #[inline(never)]
    fn shaped(&self, refusal: &Refusal, it: &Unforwarded<'_>) -> Option<Response<Bytes>> {
        let (answer, is_head) = self.answer(it);
        let response = refusal.response(&answer, &it.request)?;
        let status = response.status();
        Some(self.told(finished(response, &answer, status, is_head), it))
    }

    /// Answers a request in the form that its client can use. Apart from the cheap answer, too.
    #[inline(never)]
    fn respond_at_length(&self, it: &Unforwarded<'_>) -> Response<Bytes> {
        let (answer, is_head) = self.answer(it);
        self.told(respond(&answer, &self.page, &it.request, is_head), it)
    }

    /// The response with the headers of limits.
    fn told(&self, mut response: Response<Bytes>, it: &Unforwarded<'_>) -> Response<Bytes> {
        write_refused(response.headers_mut(), self.fields, it.told, it.retry_after, it.now);
        response
    }

    /// What there is to say, and whether it goes without its body.
    fn answer(&self, it: &Unforwarded<'_>) -> (Answer, bool) {
        let client = Client::classify(it.request.method(), it.request.headers());
        let status = match it.about {
            About::Limit | About::Pace => StatusCode::TOO_MANY_REQUESTS,
            // The waiting page's script gets what it asked for, so that no browser logs it as an
            // error.
            About::Room(..) if client.is_poll => StatusCode::OK,
            About::Room(..) => self.statuses.of(client.kind),
            About::Gate(status) | About::Service(status) => status,
        };
        let (room, reason) = (Arc::clone(&self.room), it.reason.clone());
        let mut answer = Answer::new(room, &client, it.outcome, reason, status, it.now);
        if let About::Room(rules, ticket) = it.about {
            answer = answer.with_rules(rules);
            if let Some(ticket) = ticket {
                answer = answer.with_ticket(ticket);
            }
        }
        let mut answer = answer.with_retry_after(it.retry_after.map(|time| time.min(LONGEST_WAIT)));
        answer.token = it.token.map(str::to_owned);
        (answer, client.is_head)
    }
}

impl<'a> Unforwarded<'a> {
    pub(super) fn report(&self) -> Report<'a> {
        Report::new(self.told, self.retry_after.map(whole_seconds), self.now)
    }

    pub(super) fn violated(&self) -> impl Iterator<Item = &'a Told<'a>> {
        self.told.iter().filter(|told| !told.decision.allowed)
    }
}

/// Tells `answer` to the client; without its body if the request was a HEAD.
pub(super) fn respond(
    answer: &Answer,
    page: &Page,
    head: &RequestHead<'_>,
    is_head: bool,
) -> Response<Bytes> {
    let response = form(answer, page, head).unwrap_or_else(|error| {
        tracing::error!(room = %answer.room, kind = answer.kind.as_str(), error, "answer not written");
        text(answer)
    });
    finished(response, answer, answer.status, is_head)
}

/// The response with all that goes with every form.
fn finished(
    mut response: Response<Bytes>,
    answer: &Answer,
    status: StatusCode,
    is_head: bool,
) -> Response<Bytes> {
    headers::complete(response.headers_mut(), answer);
    if answer.kind == ClientKind::Grpc {
        return response;
    }
    *response.status_mut() = status;
    let length = HeaderValue::from(response.body().len());
    response.headers_mut().insert(CONTENT_LENGTH, length);
    if is_head { response.map(|_| Bytes::new()) } else { response }
}

fn form(answer: &Answer, page: &Page, head: &RequestHead<'_>) -> Result<Response<Bytes>, Failure> {
    Ok(match answer.kind {
        ClientKind::Grpc => grpc::response(answer),
        // A refusal is told in a form that a program may know without knowing us. The script of
        // our page does know us, as do programs that wait in line.
        ClientKind::Json if !answer.is_poll && answer.outcome == Outcome::Refuse => {
            problem::response(answer)?
        }
        ClientKind::Json => json::response(answer)?,
        ClientKind::Navigation => page.response(answer, head)?,
        ClientKind::Problem => problem::response(answer)?,
        ClientKind::Text => text(answer),
    })
}

/// The answer for a terminal: a paragraph of plain text.
fn text(answer: &Answer) -> Response<Bytes> {
    let mut text = Message::paragraph(answer);
    text.push('\n');
    of_type("text/plain; charset=utf-8", text)
}

/// The answer to a ticket that is shown too often, the same for all people and for all programs: it
/// has to cost less than what was asked for.
fn too_often(
    it: &Unforwarded<'_>,
    content_type: &'static str,
    body: &'static str,
) -> Response<Bytes> {
    let is_head = *it.request.method() == Method::HEAD;
    let mut response = of_type(content_type, if is_head { "" } else { body });
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    if let Some(pause) = it.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(pause)));
    }
    response
}

const TOO_OFTEN: &str = "This was asked too often. The place in line is kept; \
    Retry-After says when to ask again.\n";

/// The same for programs, with the members that all refusals have.
const TOO_OFTEN_PROBLEM: &str = concat!(
    r#"{"type":"about:blank","title":"Too Many Requests","status":429,"#,
    r#""detail":"This was asked too often. The place in line is kept; "#,
    r#"Retry-After says when to ask again.","reason":"refused:too_often"}"#,
);

/// Beyond this, the number of seconds is longer than that of a header may be.
const LONGEST_WAIT: Duration = Duration::from_secs(Quota::MAX_LIMIT);

#[cfg(test)]
mod tests;
