//! Selects how an answer of the layer is rendered.
//!
//! ```text
//!               ┌─► the closure of the application   if it returns a response
//!               ├─► a prepared response              a limit or a gate refuses a program
//!               ├─► a page of the last second        a limit or a gate refuses a browser
//! Unforwarded ──┤
//!               ├─► a constant response              a ticket is presented too often
//!               └─► Answer ─► form                   anything else
//! ```
//!
//! A refusal must cost less than the work that it prevents, and most requests in a flood come from
//! programs. The response to a program that a limit or a gate refuses is therefore prepared at
//! start-up. The document of such a response is constant and in English. Its headers are copied
//! from a prepared map, and only a few numbers are set in the copy. All other answers are computed
//! for each request, with sentences in the language of the client.
//!
//! The responder does not choose the reason for an answer: the pipeline provides it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH, RETRY_AFTER, VARY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use waiting_room_core::{Quota, Reason, Timestamp};

use super::{
    Answer, JsonProfile, Outcome, Page, Refusal, Statuses,
    form::{finished, respond},
    headers::{EXPOSED, OUTCOME_HEADER, VARIES_BY, of_type},
    json,
    kept::{self, LayerId, PageKey},
    prepared::{NOSNIFF, PreparedHeaders, Values},
    problem,
    unforwarded::{About, Unforwarded},
};
use crate::{
    rate_headers::{Field, RateHeaders, quota_exceeded, whole_seconds},
    request::{Client, ClientKind, Language},
};

/// Renders the answers of one layer.
#[derive(Debug)]
pub(crate) struct Responder {
    id: LayerId,
    /// The name of the room, or of a layer without a room.
    pub(super) room: Arc<str>,
    /// The page for navigations.
    pub(super) page: Page,
    /// The closure with which the application renders answers, if there is one.
    refusal: Option<Refusal>,
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

/// The prepared headers for common answers, and the prepared documents for refusals by gates.
#[derive(Debug)]
struct Prepared {
    /// The headers for programs that exceed a limit. The limit provides the document.
    limit: PreparedHeaders,
    /// The headers for programs that a gate refuses.
    gate: PreparedHeaders,
    /// The headers for programs that wait.
    waiting: PreparedHeaders,
    /// The headers for the script of the waiting page.
    poll: PreparedHeaders,
    /// The headers of the page for browsers that limits or gates refuse, if they can be prepared.
    refused_page: Option<PreparedHeaders>,
    /// The headers of the waiting page, if they can be prepared.
    waiting_page: Option<PreparedHeaders>,
    /// The documents of gates: one for each combination of a reason and a status.
    documents: Vec<(Reason, StatusCode, Bytes)>,
}

impl Responder {
    /// Prepares the answers of a layer. `profile` selects the rate limit headers.
    pub(crate) fn new(
        room: Arc<str>,
        page: Page,
        refusal: Option<Refusal>,
        statuses: Statuses,
        json: JsonProfile,
        profile: RateHeaders,
    ) -> Self {
        let (fields, prepared) = (profile.fields(), Prepared::new(profile.fields(), &page));
        let (push, transfer, id) = (None, None, LayerId::new());
        Self { id, room, page, refusal, statuses, json, push, transfer, fields, prepared }
    }

    /// Sets the paths of the push streams and of transfers, which answers to visitors contain.
    pub(crate) fn with_paths(self, push: Option<Arc<str>>, transfer: Option<Arc<str>>) -> Self {
        Self { push, transfer, ..self }
    }

    /// Renders the answer to a request.
    pub(crate) fn respond(&self, it: &Unforwarded<'_>) -> Response<Bytes> {
        // The application's closure takes precedence even over prepared answers, because the
        // application's clients may not be able to read any other format.
        let client = Client::classify(it.request.method(), it.request.headers());
        if let Some(refusal) = &self.refusal
            && let Some(shaped) = self.shaped(refusal, it, &client)
        {
            return shaped;
        }
        match it.about {
            About::Limit if client.is_program() => self.prepared.over_limit(it, &client),
            About::Gate(status) if client.is_program() => {
                let (headers, language) = (&self.prepared.gate, Language::default());
                match self.prepared.document(it.reason, status) {
                    Some(document) => assembled(headers, status, document, language, it, &client),
                    None => self.respond_at_length(it, &client),
                }
            }
            // The answer is constant for every client except gRPC clients, whose libraries read
            // only trailers. The script of the waiting page polls less often after a 429.
            About::Pace if client.is_program() => {
                too_often(it, problem::CONTENT_TYPE, TOO_OFTEN_PROBLEM)
            }
            About::Pace if client.kind != ClientKind::Grpc => {
                let mut text = too_often(it, "text/plain; charset=utf-8", TOO_OFTEN);
                text.headers_mut().insert(VARY, HeaderValue::from_static(VARIES_BY));
                text.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
                text
            }
            About::Gate(status) | About::Service(status) => {
                let page = self.refused_page(status, it, &client);
                page.unwrap_or_else(|| self.respond_at_length(it, &client))
            }
            About::Limit => {
                let page = self.refused_page(StatusCode::TOO_MANY_REQUESTS, it, &client);
                page.unwrap_or_else(|| self.respond_at_length(it, &client))
            }
            About::Pace | About::Room(..) => self.respond_at_length(it, &client),
        }
    }

    /// Returns the page of a refusal by a limit or a gate, which may have been rendered for another
    /// request in the same second. Returns `None` if the client gets no page, if pages have to be
    /// rendered for each request, and if the page cannot be rendered.
    fn refused_page(
        &self,
        status: StatusCode,
        it: &Unforwarded<'_>,
        client: &Client,
    ) -> Option<Response<Bytes>> {
        let headers = self.prepared.refused_page.as_ref()?;
        // A template may show the token, which is for one visitor only.
        let is_page = client.kind == ClientKind::Navigation && it.outcome == Outcome::Refuse;
        if !is_page || it.token.is_some() {
            return None;
        }
        let language = self.page.languages().of(it.request.headers());
        let key = PageKey {
            layer: self.id,
            reason: it.reason.clone(),
            status,
            language,
            retry_after: it.retry_after.map(whole_seconds),
            is_safe: client.is_safe,
        };
        let render = || self.page.html(&self.answer(it, client, language)).ok().flatten().ok_or(());
        let html = kept::page(key, it.now, render).ok()?;
        Some(assembled(headers, status, html, language, it, client))
    }

    /// Renders a frequent answer about the room. Returns `None` for any other answer, and if the
    /// answer cannot be rendered.
    fn frequent(
        &self,
        answer: &Answer,
        it: &Unforwarded<'_>,
        client: &Client,
    ) -> Option<Response<Bytes>> {
        // An answer of the room has no headers about limits.
        if !matches!(it.about, About::Room(..)) || !it.told.is_empty() {
            return None;
        }
        let is_waiting = answer.outcome == Outcome::Wait;
        let (headers, body) = match answer.kind {
            ClientKind::Json if client.is_poll => (&self.prepared.poll, json::body(answer).ok()?),
            ClientKind::Json if is_waiting => (&self.prepared.waiting, json::body(answer).ok()?),
            ClientKind::Navigation if is_waiting && client.is_safe => {
                let (html, _) = self.page.html(answer).ok().flatten()?;
                (self.prepared.waiting_page.as_ref()?, html)
            }
            ClientKind::Grpc
            | ClientKind::Json
            | ClientKind::Navigation
            | ClientKind::Problem
            | ClientKind::Text => return None,
        };
        Some(assembled(headers, answer.status, body, answer.language, it, client))
    }

    /// Renders an answer with the closure of the application. Returns `None` if the closure leaves
    /// the answer to the layer.
    ///
    /// This function is not inlined, because its stack frame would otherwise slow down prepared
    /// answers too.
    #[inline(never)]
    fn shaped(
        &self,
        refusal: &Refusal,
        it: &Unforwarded<'_>,
        client: &Client,
    ) -> Option<Response<Bytes>> {
        let answer = self.answer(it, client, self.page.languages().of(it.request.headers()));
        let response = refusal.response(&answer, &it.request)?;
        // The closure may choose any error status, and `Refusal` replaces every other status.
        let status = response.status();
        Some(self.told(finished(response, &answer, status, client.is_head), it))
    }

    /// Renders an answer in the form that its client can use. This function is not inlined for the
    /// same reason as [`shaped`](Self::shaped).
    #[inline(never)]
    fn respond_at_length(&self, it: &Unforwarded<'_>, client: &Client) -> Response<Bytes> {
        // The JSON for a waiting program has no sentences, so its language is not negotiated.
        let is_wordless = client.kind == ClientKind::Json && !client.is_poll;
        let language = match it.outcome {
            Outcome::Wait if is_wordless => Language::default(),
            Outcome::Admit | Outcome::Refuse | Outcome::Wait => {
                self.page.languages().of(it.request.headers())
            }
        };
        let answer = self.answer(it, client, language);
        if let Some(response) = self.frequent(&answer, it, client) {
            return response;
        }
        self.told(respond(&answer, &self.page, &it.request, client.is_head), it)
    }

    /// Adds the headers about limits.
    fn told(&self, mut response: Response<Bytes>, it: &Unforwarded<'_>) -> Response<Bytes> {
        it.report().write(response.headers_mut(), self.fields);
        response
    }

    /// Collects the facts of the answer.
    fn answer(&self, it: &Unforwarded<'_>, client: &Client, language: Language) -> Answer {
        let status = match it.about {
            About::Limit | About::Pace => StatusCode::TOO_MANY_REQUESTS,
            // A poll by the waiting page's script gets a success status, whatever the outcome. With
            // an error status, browsers would log every poll as a failed request.
            About::Room(..) if client.is_poll => StatusCode::OK,
            About::Room(..) => self.statuses.of(client.kind),
            About::Gate(status) | About::Service(status) => status,
        };
        let (room, reason) = (Arc::clone(&self.room), it.reason.clone());
        let mut answer = Answer::new(room, client, language, it.outcome, reason, status, it.now);
        if let About::Room(rules, ticket) = it.about {
            if let Some(plan) = it.plan {
                answer.add_plan(plan, ticket);
            }
            answer.add_rules(rules);
            if let Some(ticket) = ticket {
                answer.add_ticket(ticket);
            }
        }
        if it.outcome == Outcome::Wait && matches!(it.about, About::Room(_, Some(_))) {
            answer.push.clone_from(&self.push);
        }
        if matches!(it.about, About::Room(..)) {
            answer.transfer.clone_from(&self.transfer);
        }
        // The time until a retry is part of the decision, and takes precedence over the time in a
        // ticket.
        answer.retry_after = it.retry_after.map(|time| time.min(LONGEST_WAIT));
        answer.token = it.token.map(str::to_owned);
        answer.json = self.json;
        answer
    }
}

impl Prepared {
    /// Prepares the answers of a layer that sends the rate limit headers `fields` and shows `page`.
    fn new(fields: &'static [Field], page: &Page) -> Self {
        let documents = GATE_REASONS.into_iter().flat_map(|reason| {
            GATE_STATUSES.map(|status| (reason.clone(), status, document(&reason, status)))
        });
        // A refusal by a limit omits the header with the outcome, because its document states the
        // limit, and every header adds to the cost of a flood.
        let outcome = (OUTCOME_HEADER, Outcome::Refuse.as_str());
        Self {
            limit: PreparedHeaders::of_document(fields, &[]),
            gate: PreparedHeaders::of_document(fields, &[outcome]),
            waiting: PreparedHeaders::of_json(false),
            poll: PreparedHeaders::of_json(true),
            refused_page: PreparedHeaders::of_refused_page(page, fields),
            waiting_page: PreparedHeaders::of_waiting_page(page),
            documents: documents.collect(),
        }
    }

    /// Returns the refusal of a request that exceeds limits.
    fn over_limit(&self, it: &Unforwarded<'_>, client: &Client) -> Response<Bytes> {
        let (status, language) = (StatusCode::TOO_MANY_REQUESTS, Language::default());
        assembled(&self.limit, status, over_limit(it), language, it, client)
    }

    /// Returns the document of a refusal by a gate. Returns `None` if no document is prepared for
    /// the reason and the status: for example, if the client has disconnected.
    fn document(&self, reason: &Reason, status: StatusCode) -> Option<Bytes> {
        // There are at most twelve documents, so a linear search is as fast as a map.
        let mut documents = self.documents.iter();
        let (.., document) = documents.find(|(of, with, _)| of == reason && *with == status)?;
        Some(document.clone())
    }
}

/// Assembles a response from prepared headers and a finished body.
fn assembled(
    headers: &PreparedHeaders,
    status: StatusCode,
    body: Bytes,
    language: Language,
    it: &Unforwarded<'_>,
    client: &Client,
) -> Response<Bytes> {
    let (length, outcome, report) = (body.len(), it.outcome, it.report());
    let mut response = Response::new(if client.is_head { Bytes::new() } else { body });
    *response.status_mut() = status;
    let values = Values { language, length, outcome, report };
    // Answers about the room differ from visitor to visitor, and refusals hardly.
    *response.headers_mut() = match it.about {
        About::Room(..) if it.gets_cookie => headers.with_cookie(&values),
        About::Room(..) => headers.with(&values),
        About::Gate(_) | About::Limit | About::Pace | About::Service(_) => {
            headers.of_refusal(&values)
        }
    };
    // Every further header adds to the cost of a flood, and only scripts of other origins need
    // permission to read headers.
    if client.has_origin {
        let headers = response.headers_mut();
        headers.entry(VARY).or_insert(HeaderValue::from_static(VARIES_BY));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
    response
}

/// Returns the problem document for the limits that a request exceeds: the prepared document for a
/// single limit, and otherwise a new document that names all exceeded limits.
fn over_limit(it: &Unforwarded<'_>) -> Bytes {
    let mut violated = it.violated();
    match (violated.next(), violated.next()) {
        (Some(only), None) => only.line.problem.clone(),
        _ => {
            let names: Vec<&str> = it.violated().map(|told| told.line.name()).collect();
            let details: Vec<&str> = it.violated().map(|it| &*it.line.detail).collect();
            let (reason, detail) = (it.reason.to_string(), details.join(" "));
            quota_exceeded(&names, &reason, &detail).unwrap_or_default().into()
        }
    }
}

/// Renders the problem document of a gate, in English. The document names neither the gate nor a
/// time, so that one document serves all requests.
fn document(reason: &Reason, status: StatusCode) -> Bytes {
    let client = Client {
        kind: ClientKind::Problem,
        has_origin: false,
        is_head: false,
        is_poll: false,
        is_safe: false,
    };
    // The document of a gate contains neither the name of the room nor a time.
    let (outcome, now) = (Outcome::Refuse, Timestamp::ZERO);
    let (language, reason) = (Language::default(), reason.clone());
    let answer = Answer::new("".into(), &client, language, outcome, reason, status, now);
    problem::document(&answer).unwrap_or_default().into()
}

/// Creates the answer to a ticket that is shown too often.
///
/// There are only two such answers: one for people and one for programs. They need no lookup and no
/// formatting, because each of them has to cost less than the answer that the client requested.
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

/// The reasons for which a gate refuses a request whose client is still connected.
const GATE_REASONS: [Reason; 4] = [
    Reason::RefusedGateDrained,
    Reason::RefusedGateFull,
    Reason::RefusedGateShed,
    Reason::RefusedGateTimeout,
];

/// The statuses that a gate's refusal may have.
const GATE_STATUSES: [StatusCode; 3] =
    [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];

#[cfg(test)]
mod tests;
