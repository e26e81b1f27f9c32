//! What a program gets whose request a limit or a gate refuses, prepared at start-up.
//!
//! It is what a flood gets, and programs send most of any flood. Its document is ready, in English,
//! and its headers are a copy in which a few numbers are set.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER,
    },
};
use waiting_room_core::{Reason, Timestamp};

use super::{Answer, Outcome, headers::EXPOSED, headers::OUTCOME_HEADER, problem};
use crate::{
    rate_headers::{Part, RateHeaders, Report, quota_exceeded},
    request::{Client, ClientKind, Language, Program},
    respond::Unforwarded,
};

/// The refusals of a layer for programs, with one profile of headers.
#[derive(Debug)]
pub(super) struct Prepared {
    limit: PreparedHeaders,
    gate: PreparedHeaders,
    /// What is sent for each reason of a gate and each status that it may have.
    documents: Vec<(Reason, StatusCode, Bytes)>,
}

/// Headers of which some are yet to be set.
#[derive(Debug)]
struct PreparedHeaders {
    headers: HeaderMap,
    /// Those that are to be set, in the order of the headers.
    parts: Box<[Option<Part>]>,
}

impl Prepared {
    pub(super) fn new(profile: RateHeaders) -> Self {
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
    pub(super) fn over_limit(&self, it: &Unforwarded<'_>, program: Program) -> Response<Bytes> {
        self.limit.respond(StatusCode::TOO_MANY_REQUESTS, over_limit(it), it, program)
    }

    /// The answer to a request for which a gate has no permit; `None` if none is prepared.
    pub(super) fn at_gate(
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
        // Only a script of another origin needs it; with a tenth header, the copy of them would
        // outgrow what common allocators keep at hand.
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
