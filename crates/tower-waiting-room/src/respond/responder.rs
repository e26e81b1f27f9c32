//! The one renderer of the layer's own answers.
//!
//! A program that a limit or a gate refuses is answered cheaply: it is what a flood gets, and programs
//! send most of any flood. The document is prepared, in English, and the headers are a copy in which a
//! few numbers are set. Everything else is told at length, as an [`Answer`] in the form that the client
//! can use.

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
        Field, Part, PolicyState, RateHeaders, Report, quota_exceeded, whole_seconds, write_refused,
    },
    request::{Client, ClientKind, Language, Program, RequestHead},
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
    pub(crate) told: &'a [PolicyState<'a>],
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

/// The refusals of a layer for programs, with one profile of headers.
#[derive(Debug)]
struct Prepared {
    limit: PreparedHeaders,
    gate: PreparedHeaders,
    /// What is sent for each reason of a gate and each status that it may have.
    documents: Vec<(Reason, StatusCode, Bytes)>,
}

/// All headers, of which those with a part in `parts` are yet to be set.
#[derive(Debug)]
struct PreparedHeaders {
    headers: HeaderMap,
    /// In the order of the headers.
    parts: Box<[Option<Part>]>,
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

impl Prepared {
    fn new(profile: RateHeaders) -> Self {
        let documents = GATE_REASONS.into_iter().flat_map(|reason| {
            GATE_STATUSES.map(|status| (reason.clone(), status, document(&reason, status)))
        });
        Self {
            limit: PreparedHeaders::new(profile, &[]),
            gate: PreparedHeaders::new(profile, &[(OUTCOME_HEADER, Outcome::Refuse.as_str())]),
            documents: documents.collect(),
        }
    }

    /// The answer to a request that exceeds a limit.
    fn over_limit(&self, it: &Unforwarded<'_>, program: Program) -> Response<Bytes> {
        self.limit.respond(StatusCode::TOO_MANY_REQUESTS, over_limit(it), it, program)
    }

    /// The answer to a request for which a gate has no permit; `None` if none is prepared.
    fn at_gate(
        &self,
        status: StatusCode,
        it: &Unforwarded<'_>,
        program: Program,
    ) -> Option<Response<Bytes>> {
        let mut documents = self.documents.iter();
        let (.., document) = documents.find(|(of, with, _)| of == it.reason && *with == status)?;
        Some(self.gate.respond(status, document.clone(), it, program))
    }
}

impl PreparedHeaders {
    /// With these headers besides.
    fn new(profile: RateHeaders, besides: &[(HeaderName, &'static str)]) -> Self {
        let fields = profile.fields();
        let mut headers = HeaderMap::with_capacity(4 + besides.len() + fields.len());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
        // RFC 6585 section 4 forbids to store a 429; not every cache knows.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in besides {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let dynamic = fields.iter().map(|field| (&field.name, field.part));
        for (name, _) in dynamic.clone().chain([(&RETRY_AFTER, Part::RetryAfter)]) {
            headers.insert(name, HeaderValue::from_static(""));
        }
        let part = |name| match dynamic.clone().find(|(other, _)| *other == name) {
            Some((_, part)) => Some(part),
            None => (name == RETRY_AFTER).then_some(Part::RetryAfter),
        };
        let parts = headers.keys().map(part).collect();
        Self { headers, parts }
    }

    fn respond(
        &self,
        status: StatusCode,
        document: Bytes,
        it: &Unforwarded<'_>,
        program: Program,
    ) -> Response<Bytes> {
        let is_head = *it.request.method() == Method::HEAD;
        let len = document.len();
        let mut response = Response::new(if is_head { Bytes::new() } else { document });
        *response.status_mut() = status;
        *response.headers_mut() = self.headers(&it.report());
        // Only a script of another origin needs it; with a tenth header, the copy of those of a limit
        // would outgrow what common allocators keep at hand.
        if program.has_origin {
            let exposed = HeaderValue::from_static(EXPOSED);
            response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        if is_head {
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(len));
        }
        response
    }

    /// The headers for a program: copied, which is cheaper than to insert them one by one.
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
        if is_complete { headers } else { without_empty(headers) }
    }
}

impl<'a> Unforwarded<'a> {
    fn report(&self) -> Report<'a> {
        Report::new(self.told, self.retry_after.map(whole_seconds), self.now)
    }

    fn violated(&self) -> impl Iterator<Item = &'a PolicyState<'a>> {
        self.told.iter().filter(|told| !told.decision.allowed)
    }
}

/// The problem document: the one of the policy if it is only one, or else one for all of them.
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

/// The problem document of a gate.
fn document(reason: &Reason, status: StatusCode) -> Bytes {
    let client = Client {
        kind: ClientKind::Problem,
        language: Language::default(),
        is_head: false,
        is_poll: false,
        is_safe: false,
    };
    let (outcome, now) = (Outcome::Refuse, Timestamp::ZERO);
    let answer = Answer::new("".into(), &client, outcome, reason.clone(), status, now);
    problem::document(&answer).unwrap_or_default().into()
}

/// The headers without those that were not set: when to come back, where there is no point in it.
fn without_empty(headers: HeaderMap) -> HeaderMap {
    let said = headers.into_iter().filter(|(_, value)| !value.is_empty());
    said.filter_map(|(name, value)| Some((name?, value))).collect()
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

/// Why a gate refuses a request of a client that is still there.
const GATE_REASONS: [Reason; 4] = [
    Reason::RefusedGateDrained,
    Reason::RefusedGateFull,
    Reason::RefusedGateShed,
    Reason::RefusedGateTimeout,
];

/// With which statuses.
const GATE_STATUSES: [StatusCode; 3] =
    [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];

#[cfg(test)]
mod tests;
