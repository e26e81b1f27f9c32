//! Selects how an answer by the layer is rendered.
//!
//! ```text
//!               ┌─► the application's closure        if it returns a response
//!               ├─► a constant response              a ticket is presented too often
//! Unforwarded ──┼─► prepared headers and a body      a limit or a gate refuses a program, or a browser;
//!               │                                    a program or a browser waits
//!               └─► Answer ─► form                   anything else
//! ```
//!
//! A refusal must cost less than the work that it prevents, and most requests in a flood come from
//! programs. The response to a program that a limit or a gate refuses is therefore prepared at
//! start-up. The document of such a response is constant and in English. Its headers are copied
//! from a prepared map, and only a few numbers are set in the copy. The headers of waiting clients and
//! of pages are prepared too. All other answers are rendered on demand.
//!
//! The responder does not choose the reason for an answer: the pipeline provides it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LENGTH, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS},
};
use waiting_room_core::Quota;

use super::{
    About, Answer, JsonProfile, Outcome, Page, Shape, Shapes, Statuses, Unforwarded,
    form::{finished, respond},
    headers::{VARIES_BY, expose, of_type},
    json,
    kept::{self, LayerId, PageKey},
    prepared::{FinishedBody, NOSNIFF, Prepared, PreparedHeaders, over_limit},
    problem,
};
use crate::{
    rate_headers::{Field, RateHeaders, whole_seconds},
    request::{Client, ClientKind, Language},
};

/// Renders the answers of one layer.
#[derive(Debug)]
pub(crate) struct Responder {
    id: LayerId,
    /// The name of the layer, which is also the name of its room.
    pub(super) room: Arc<str>,
    /// The page for navigations.
    pub(super) page: Page,
    /// The closures with which the application renders answers.
    shapes: Shapes,
    /// The statuses of answers about the room.
    statuses: Statuses,
    /// The objects in the JSON of answers about the room.
    pub(super) json: JsonProfile,
    /// The path of the push streams, if there is push.
    push: Option<Arc<str>>,
    /// The path of transfers, if there is one.
    transfer: Option<Arc<str>>,
    /// The rate limit headers of the configured profile.
    fields: &'static [Field],
    /// The refusals that are built at start-up, so that a flood of requests is cheap to refuse.
    prepared: Prepared,
}

impl Responder {
    /// Prepares the answers of a layer. `profile` selects the rate limit headers.
    pub(crate) fn new(
        room: Arc<str>,
        page: Page,
        shapes: Shapes,
        statuses: Statuses,
        json: JsonProfile,
        profile: RateHeaders,
    ) -> Self {
        let fields = profile.fields();
        Self {
            id: LayerId::new(),
            prepared: Prepared::new(fields, &page),
            room,
            page,
            shapes,
            statuses,
            json,
            push: None,
            transfer: None,
            fields,
        }
    }

    /// Sets the paths of the push streams and of transfers, which answers to visitors contain.
    pub(crate) fn with_paths(self, push: Option<Arc<str>>, transfer: Option<Arc<str>>) -> Self {
        Self { push, transfer, ..self }
    }

    /// Renders the answer to a request.
    pub(crate) fn respond(&self, facts: &Unforwarded<'_>) -> Response<Bytes> {
        // The application's closure takes precedence even over prepared answers, because the
        // application's clients may not be able to read any other format.
        let client = Client::classify(facts.request.method(), facts.request.headers());
        if let Some(shape) = self.shapes.of(facts.outcome)
            && let Some(shaped) = self.shaped(shape, facts, &client)
        {
            return shaped;
        }
        // The answer is constant for every client except gRPC clients, whose libraries read only
        // trailers. The script of the waiting page polls less often after a 429.
        if matches!(facts.about, About::Pace) && client.kind != ClientKind::Grpc {
            return too_often(facts, &client);
        }
        match self.frequent(facts, &client) {
            Some((headers, body)) => headers.assembled(body, facts, &client),
            None => self.on_demand(facts, &client),
        }
    }

    /// Renders the body of a frequent answer, and returns its prepared headers. Returns `None` for any
    /// other answer, and if the body cannot be rendered.
    fn frequent(&self, facts: &Unforwarded<'_>, client: &Client) -> Option<Frequent<'_>> {
        let prepared = &self.prepared;
        match facts.about {
            About::Limit if client.is_program() => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                Some((&prepared.limit, FinishedBody::english(status, over_limit(facts))))
            }
            About::Gate(status) if client.is_program() => {
                let document = prepared.document(facts.reason, status)?;
                Some((&prepared.gate, FinishedBody::english(status, document)))
            }
            About::Limit => self.refused_page(StatusCode::TOO_MANY_REQUESTS, facts, client),
            About::Gate(status) | About::Service(status) => {
                self.refused_page(status, facts, client)
            }
            About::Room(..) => self.about_room(facts, client),
            About::Pace => None,
        }
    }

    /// Returns the page of a refusal by a limit or a gate, which may have been rendered for another
    /// request in the same second. Returns `None` if the client gets no page, if pages have to be
    /// rendered for each request, or if the page cannot be rendered.
    fn refused_page(
        &self,
        status: StatusCode,
        facts: &Unforwarded<'_>,
        client: &Client,
    ) -> Option<Frequent<'_>> {
        let headers = self.prepared.refused_page.as_ref()?;
        // A template may show the token, which is only for one visitor.
        let is_page = client.kind == ClientKind::Navigation && facts.outcome == Outcome::Refuse;
        if !is_page || facts.token.is_some() {
            return None;
        }
        let language = self.page.languages().of(facts.request.headers());
        let key = PageKey {
            layer: self.id,
            reason: facts.reason.clone(),
            status,
            language,
            retry_after: facts.retry_after.map(whole_seconds),
            is_safe: client.is_safe,
        };
        let render =
            || self.page.html(&self.answer(facts, client, language)).ok().flatten().ok_or(());
        let content = kept::page(key, facts.now, render).ok()?;
        Some((headers, FinishedBody { status, language, content }))
    }

    /// Renders the answer to a client that waits, or to a poll. Returns `None` if the answer is not one
    /// with prepared headers, or cannot be rendered.
    fn about_room(&self, facts: &Unforwarded<'_>, client: &Client) -> Option<Frequent<'_>> {
        let is_waiting = facts.outcome == Outcome::Wait;
        let headers = match client.kind {
            ClientKind::Json if client.is_poll => &self.prepared.poll,
            ClientKind::Json if is_waiting => &self.prepared.waiting,
            ClientKind::Navigation if is_waiting && client.is_safe => {
                self.prepared.waiting_page.as_ref()?
            }
            ClientKind::Grpc
            | ClientKind::Json
            | ClientKind::Navigation
            | ClientKind::Problem
            | ClientKind::Text => return None,
        };
        // The prepared headers of these answers have no place for headers about limits.
        if !facts.told.is_empty() {
            return None;
        }
        let answer = self.answer(facts, client, self.language_of(facts, client));
        let content = match client.kind {
            ClientKind::Navigation => self.page.html(&answer).ok().flatten()?.0,
            ClientKind::Grpc | ClientKind::Json | ClientKind::Problem | ClientKind::Text => {
                json::body(&answer).ok()?
            }
        };
        let Answer { status, language, .. } = answer;
        Some((headers, FinishedBody { status, language, content }))
    }

    /// Renders an answer with the closure of the application. Returns `None` if the closure leaves
    /// the answer to the layer.
    ///
    /// This function is not inlined, because its stack frame would otherwise slow down prepared
    /// answers too.
    #[inline(never)]
    fn shaped(
        &self,
        shape: &Shape,
        facts: &Unforwarded<'_>,
        client: &Client,
    ) -> Option<Response<Bytes>> {
        let language = self.page.languages().of(facts.request.headers());
        let answer = self.answer(facts, client, language);
        let response = shape.response(&answer, &facts.request)?;
        // The closure may choose any error status, and `Shape` replaces every other status.
        let status = response.status();
        Some(self.told(finished(response, &answer, status, &facts.request), facts))
    }

    /// Renders an answer in the form that its client can use. This function is not inlined for the
    /// same reason as [`shaped`](Self::shaped).
    #[inline(never)]
    fn on_demand(&self, facts: &Unforwarded<'_>, client: &Client) -> Response<Bytes> {
        let answer = self.answer(facts, client, self.language_of(facts, client));
        self.told(respond(&answer, &self.page, &facts.request), facts)
    }

    /// Returns the language of an answer. The JSON for a waiting program has no sentences, so its
    /// language is not negotiated.
    fn language_of(&self, facts: &Unforwarded<'_>, client: &Client) -> Language {
        let is_wordless = client.kind == ClientKind::Json && !client.is_poll;
        if is_wordless && facts.outcome == Outcome::Wait {
            return Language::default();
        }
        self.page.languages().of(facts.request.headers())
    }

    /// Adds the headers about limits.
    fn told(&self, mut response: Response<Bytes>, facts: &Unforwarded<'_>) -> Response<Bytes> {
        facts.report().write(response.headers_mut(), self.fields);
        response
    }

    /// Collects the facts of the answer.
    fn answer(&self, facts: &Unforwarded<'_>, client: &Client, language: Language) -> Answer {
        let status = match facts.about {
            About::Limit | About::Pace => StatusCode::TOO_MANY_REQUESTS,
            // A poll by the waiting page's script gets a success status, whatever the outcome. With
            // an error status, browsers would log every poll as a failed request.
            About::Room(..) if client.is_poll => StatusCode::OK,
            About::Room(..) => self.statuses.of(client.kind),
            About::Gate(status) | About::Service(status) => status,
        };
        let room = Arc::clone(&self.room);
        let reason = facts.reason.clone();
        let mut answer =
            Answer::new(room, client, language, facts.outcome, reason, status, facts.now);
        if let About::Room(rules, ticket) = facts.about {
            if let Some(plan) = facts.plan {
                answer.add_plan(plan, ticket);
            }
            answer.add_rules(rules);
            if let Some(ticket) = ticket {
                answer.add_ticket(ticket);
            }
        }
        if facts.outcome == Outcome::Wait && matches!(facts.about, About::Room(_, Some(_))) {
            answer.push.clone_from(&self.push);
        }
        if matches!(facts.about, About::Room(..)) {
            answer.transfer.clone_from(&self.transfer);
        }
        // The time until a retry is part of the decision, and takes precedence over the time in a
        // ticket.
        answer.retry_after = facts.retry_after.map(|time| time.min(LONGEST_WAIT));
        answer.token = facts.token.map(str::to_owned);
        answer.json = self.json;
        answer
    }
}

/// Prepared headers, and the body of the answer.
type Frequent<'a> = (&'a PreparedHeaders, FinishedBody);

/// Creates the answer to a ticket that is shown too often.
///
/// There are only two such answers: one for people and one for programs. Each has to cost less than
/// the answer that the client requested, so they need no lookup and no formatting.
fn too_often(facts: &Unforwarded<'_>, client: &Client) -> Response<Bytes> {
    let is_program = client.is_program();
    let (content_type, body) = if is_program {
        (problem::CONTENT_TYPE, TOO_OFTEN_PROBLEM)
    } else {
        ("text/plain; charset=utf-8", TOO_OFTEN)
    };
    let mut response = of_type(content_type, if client.is_head { "" } else { body });
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    if let Some(pause) = facts.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(pause)));
    }
    if !is_program {
        headers.insert(VARY, HeaderValue::from_static(VARIES_BY));
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    }
    if client.has_origin {
        expose(headers);
    }
    response
}

/// The body of [`too_often`] for people.
const TOO_OFTEN: &str = "Too many requests for one place in line. The place is kept; \
    Retry-After states when to try again.\n";

/// The body of [`too_often`] for programs: a problem document with the members that every refusal
/// has.
const TOO_OFTEN_PROBLEM: &str = concat!(
    r#"{"type":"about:blank","title":"Too Many Requests","status":429,"#,
    r#""detail":"Too many requests for one place in line. The place is kept; "#,
    r#"Retry-After states when to try again.","reason":"refused:too_often"}"#,
);

/// The longest time until a retry that an answer can contain. In seconds, a longer time would have
/// more than the 15 digits that structured fields allow.
const LONGEST_WAIT: Duration = Duration::from_secs(Quota::MAX_LIMIT);

#[cfg(test)]
mod tests;
