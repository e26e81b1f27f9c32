//! Selects how an answer of the layer is rendered.
//!
//! ```text
//!               ┌─► the closure of the application   if it returns a response
//!               ├─► a prepared response              a limit or a gate refuses a program
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
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER,
    },
};
use waiting_room_core::{Quota, Reason, RoomRules, Ticket, Timestamp};

use super::{
    Answer, Outcome, Page, Refusal, Statuses,
    form::{finished, respond},
    headers::{EXPOSED, OUTCOME_HEADER, of_type},
    problem,
};
use crate::{
    rate_headers::{
        Field, HeaderPart, PolicyState, RateHeaders, Report, quota_exceeded, whole_seconds,
        write_refused,
    },
    request::{Client, ClientKind, Language, RequestHead},
};

/// Renders the answers of one layer.
#[derive(Debug)]
pub(crate) struct Responder {
    /// The name of the room, or of the layer if it has no room.
    room: Arc<str>,
    /// The page for navigations.
    page: Page,
    /// The closure with which the application renders answers, if there is one.
    refusal: Option<Refusal>,
    /// The statuses of answers about the room.
    statuses: Statuses,
    /// The rate limit headers of the configured profile.
    fields: &'static [Field],
    /// The refusals that are built at start-up, so that a flood of requests is cheap to refuse.
    prepared: Prepared,
}

/// A request that is not forwarded, with the decision and all facts that its answer may contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unforwarded<'a> {
    pub(crate) request: RequestHead<'a>,
    /// The decision.
    pub(crate) outcome: Outcome,
    /// The reason for the decision.
    pub(crate) reason: &'a Reason,
    /// The topic, which determines the status and the cost of the answer.
    pub(crate) about: About<'a>,
    /// The time until a retry can succeed, or `None` if no retry can succeed.
    pub(crate) retry_after: Option<Duration>,
    /// The policies that the headers report: those of the limits, and that of the gate if it
    /// refused the request.
    pub(crate) told: &'a [PolicyState<'a>],
    /// The new token for a client that does not store cookies.
    pub(crate) token: Option<&'a str>,
    /// The time of the decision.
    pub(crate) now: Timestamp,
}

/// The topic of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About<'a> {
    /// A gate that has no permit for the request, with the status of the answer.
    Gate(StatusCode),
    /// Limits that the request exceeds.
    Limit,
    /// The limit on how often a ticket may be presented, if the request exceeds it.
    Pace,
    /// The room, with its rules and with the visitor's ticket if there is one.
    Room(&'a RoomRules, Option<&'a Ticket>),
    /// Any other topic, with the status of the answer.
    Service(StatusCode),
}

/// The prepared refusals for programs.
#[derive(Debug)]
struct Prepared {
    /// The headers for requests that exceed a limit. The limit provides the document.
    limit: PreparedHeaders,
    /// The headers for requests that a gate refuses.
    gate: PreparedHeaders,
    /// The documents of gates: one for each combination of a reason and a status.
    documents: Vec<(Reason, StatusCode, Bytes)>,
}

/// The headers of a prepared refusal. Cloning the map and setting a few values is cheaper than
/// inserting each header, because every insertion hashes a name.
#[derive(Debug)]
struct PreparedHeaders {
    /// All headers. A header that varies has an empty value until it is set.
    headers: HeaderMap,
    /// The part of the report that provides the value of each header, in the order of the map, or
    /// `None` for a constant header.
    parts: Box<[Option<HeaderPart>]>,
}

impl Responder {
    /// Prepares the answers of a layer. `profile` selects the rate limit headers.
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
                let prepared = self.prepared.at_gate(status, it, &client);
                prepared.unwrap_or_else(|| self.respond_at_length(it, &client))
            }
            // The answer is constant for every client except gRPC clients, whose libraries read
            // only trailers. The script of the waiting page polls less often after a 429.
            About::Pace if client.is_program() => {
                too_often(it, problem::CONTENT_TYPE, TOO_OFTEN_PROBLEM)
            }
            About::Pace if client.kind != ClientKind::Grpc => {
                too_often(it, "text/plain; charset=utf-8", TOO_OFTEN)
            }
            _ => self.respond_at_length(it, &client),
        }
    }

    /// Renders an answer with the application's closure. Returns `None` if the closure leaves the
    /// answer to the layer.
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
        let answer = self.answer(it, client);
        let response = refusal.response(&answer, &it.request)?;
        // The closure may choose any error status, and `Refusal` replaces every other status.
        let status = response.status();
        Some(self.told(finished(response, &answer, status, client.is_head), it))
    }

    /// Renders an answer in the form that its client can use. This function is not inlined for the
    /// same reason as [`shaped`](Self::shaped).
    #[inline(never)]
    fn respond_at_length(&self, it: &Unforwarded<'_>, client: &Client) -> Response<Bytes> {
        let answer = self.answer(it, client);
        self.told(respond(&answer, &self.page, &it.request, client.is_head), it)
    }

    /// Adds the rate limit headers.
    fn told(&self, mut response: Response<Bytes>, it: &Unforwarded<'_>) -> Response<Bytes> {
        write_refused(response.headers_mut(), self.fields, it.told, it.retry_after, it.now);
        response
    }

    /// Collects the facts of the answer.
    fn answer(&self, it: &Unforwarded<'_>, client: &Client) -> Answer {
        let status = match it.about {
            About::Limit | About::Pace => StatusCode::TOO_MANY_REQUESTS,
            // A poll by the waiting page's script gets a success status, whatever the outcome. With
            // an error status, browsers would log every poll as a failed request.
            About::Room(..) if client.is_poll => StatusCode::OK,
            About::Room(..) => self.statuses.of(client.kind),
            About::Gate(status) | About::Service(status) => status,
        };
        let (room, reason) = (Arc::clone(&self.room), it.reason.clone());
        let language = Language::of(it.request.headers());
        let mut answer = Answer::new(room, client, language, it.outcome, reason, status, it.now);
        if let About::Room(rules, ticket) = it.about {
            answer = answer.with_rules(rules);
            if let Some(ticket) = ticket {
                answer = answer.with_ticket(ticket);
            }
        }
        // The time until a retry is part of the decision, and takes precedence over the time in a
        // ticket.
        let mut answer = answer.with_retry_after(it.retry_after.map(|time| time.min(LONGEST_WAIT)));
        answer.token = it.token.map(str::to_owned);
        answer
    }
}

impl Prepared {
    /// Prepares the refusals for a header profile.
    fn new(profile: RateHeaders) -> Self {
        let documents = GATE_REASONS.into_iter().flat_map(|reason| {
            GATE_STATUSES.map(|status| (reason.clone(), status, document(&reason, status)))
        });
        // A refusal by a limit omits the outcome header, because its document names the limit, and
        // every header adds to the cost of a flood.
        Self {
            limit: PreparedHeaders::new(profile, &[]),
            gate: PreparedHeaders::new(profile, &[(OUTCOME_HEADER, Outcome::Refuse.as_str())]),
            documents: documents.collect(),
        }
    }

    /// Returns the refusal of a request that exceeds limits.
    fn over_limit(&self, it: &Unforwarded<'_>, client: &Client) -> Response<Bytes> {
        self.limit.respond(StatusCode::TOO_MANY_REQUESTS, over_limit(it), it, client)
    }

    /// Returns a gate's refusal of a request. Returns `None` if no document is prepared for the
    /// reason and the status: for example, if the client has disconnected.
    fn at_gate(
        &self,
        status: StatusCode,
        it: &Unforwarded<'_>,
        client: &Client,
    ) -> Option<Response<Bytes>> {
        // There are at most twelve documents, so a linear search is as fast as a map.
        let mut documents = self.documents.iter();
        let (.., document) = documents.find(|(of, with, _)| of == it.reason && *with == status)?;
        Some(self.gate.respond(status, document.clone(), it, client))
    }
}

impl PreparedHeaders {
    /// Prepares the headers of a profile, and the additional headers in `besides`.
    fn new(profile: RateHeaders, besides: &[(HeaderName, &'static str)]) -> Self {
        let fields = profile.fields();
        // The capacity includes three headers that are always set, and one that only some responses
        // need.
        let mut headers = HeaderMap::with_capacity(4 + besides.len() + fields.len());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
        // RFC 6585 section 4 forbids caches to store a response with status 429, but not every
        // cache recognizes that status.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in besides {
            headers.insert(name, HeaderValue::from_static(value));
        }
        // Headers that vary are inserted with an empty value. `Retry-After` is not part of a
        // profile, because every refusal has this header.
        let dynamic = fields.iter().map(|field| (&field.name, field.part));
        for (name, _) in dynamic.clone().chain([(&RETRY_AFTER, HeaderPart::RetryAfter)]) {
            headers.insert(name, HeaderValue::from_static(""));
        }
        let part = |name| match dynamic.clone().find(|(other, _)| *other == name) {
            Some((_, part)) => Some(part),
            None => (name == RETRY_AFTER).then_some(HeaderPart::RetryAfter),
        };
        let parts = headers.keys().map(part).collect();
        Self { headers, parts }
    }

    /// Assembles a response from a prepared document and the numbers for the request.
    fn respond(
        &self,
        status: StatusCode,
        document: Bytes,
        it: &Unforwarded<'_>,
        client: &Client,
    ) -> Response<Bytes> {
        let is_head = *it.request.method() == Method::HEAD;
        let len = document.len();
        let mut response = Response::new(if is_head { Bytes::new() } else { document });
        *response.status_mut() = status;
        *response.headers_mut() = self.headers(&it.report());
        // Only scripts from other origins need this header. With a tenth header, the map of a
        // refusal by a limit would outgrow the size classes that common allocators serve fastest.
        if client.has_origin {
            let exposed = HeaderValue::from_static(EXPOSED);
            response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        // A server derives the length from the body, but the response to a HEAD request has no
        // body.
        if is_head {
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(len));
        }
        response
    }

    /// Copies the headers, and sets the values that vary.
    fn headers(&self, report: &Report<'_>) -> HeaderMap {
        let mut headers = self.headers.clone();
        let mut is_complete = true;
        for (value, part) in headers.values_mut().zip(&self.parts) {
            let Some(part) = part else { continue };
            match report.value(*part) {
                Some(new) => *value = new,
                None => is_complete = false,
            }
        }
        // Removing a header from a map costs more than setting it. An incomplete map is rare, and
        // is rebuilt instead.
        if is_complete { headers } else { without_empty(headers) }
    }
}

impl<'a> Unforwarded<'a> {
    /// Returns the rate limit report, which provides the header values.
    fn report(&self) -> Report<'a> {
        Report::new(self.told, self.retry_after.map(whole_seconds), self.now)
    }

    /// Returns the policies that the request exceeds.
    fn violated(&self) -> impl Iterator<Item = &'a PolicyState<'a>> {
        self.told.iter().filter(|told| !told.decision.allowed)
    }
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

/// Removes headers that were not set, such as `Retry-After` on a final refusal.
fn without_empty(headers: HeaderMap) -> HeaderMap {
    let said = headers.into_iter().filter(|(_, value)| !value.is_empty());
    said.filter_map(|(name, value)| Some((name?, value))).collect()
}

/// Creates the answer to a request whose ticket is presented too often.
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
