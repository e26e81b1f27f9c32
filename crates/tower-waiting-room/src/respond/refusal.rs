//! The answer to a request that exceeds a rate limit.
//!
//! Made to be cheap: it is what a flood gets. For a program, which sends most of any flood, the
//! document is there already, the headers are a copy in which a few numbers are set, and nothing
//! is asked of the request but the kind of its client. People and gRPC clients get the usual forms
//! of an [`Answer`].

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ORIGIN,
        RETRY_AFTER,
    },
};
use waiting_room_core::{Quota, Reason, Timestamp};

use super::{
    Answer, Outcome, Page, RateHeaders, Told,
    headers::EXPOSED,
    problem,
    rate_headers::{Part, Report},
    respond,
    time::whole_seconds,
};
use crate::{
    head::RequestHead,
    visit::{self, Client},
};

/// Refuses requests, with one profile of headers.
#[derive(Debug)]
pub(crate) struct Refusal {
    profile: RateHeaders,
    /// All headers that a program gets, of which those with a part in `parts` are yet to be set.
    headers: HeaderMap,
    /// In the order of the headers.
    parts: Box<[Option<Part>]>,
}

/// A request that exceeds a limit, and what there is to say to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) request: RequestHead<'a>,
    /// The policy that binds: the same in logs and in the answer.
    pub(crate) reason: &'a Reason,
    /// Every policy that applied; at least one of them refused.
    pub(crate) told: &'a [Told<'a>],
    /// When to repeat the request; `None` if that is pointless.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) now: Timestamp,
    /// The name that the refusal goes by, for the page.
    pub(crate) room: &'a Arc<str>,
    pub(crate) page: &'a Page,
}

impl Refusal {
    /// Prepares everything that is the same for all requests.
    pub(crate) fn new(profile: RateHeaders) -> Self {
        let fields = profile.fields();
        let mut headers = HeaderMap::with_capacity(4 + fields.len());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
        // RFC 6585 section 4 forbids to store a 429; not every cache knows.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let dynamic = fields.iter().map(|field| (&field.name, field.part));
        for (name, _) in dynamic.clone().chain([(&RETRY_AFTER, Part::RetryAfter)]) {
            headers.insert(name, HeaderValue::from_static(""));
        }
        let part = |name| match dynamic.clone().find(|(other, _)| *other == name) {
            Some((_, part)) => Some(part),
            None => (name == RETRY_AFTER).then_some(Part::RetryAfter),
        };
        let parts = headers.keys().map(part).collect();
        Self { profile, headers, parts }
    }

    /// The answer, in the form that the client can use.
    pub(crate) fn respond(&self, refused: &Refused<'_>) -> Response<Bytes> {
        if visit::is_program(refused.request.headers()) {
            self.respond_to_program(refused)
        } else {
            self.respond_at_length(refused)
        }
    }

    fn respond_to_program(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let body = refused.problem();
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        *response.headers_mut() = self.headers(&refused.report());
        // Only a script of another origin needs it; with a tenth header, the copy of them would
        // outgrow what common allocators keep at hand. A program sends few headers, so to read
        // their names is less than to look one up.
        if refused.request.headers().keys().any(|name| *name == ORIGIN) {
            let exposed = HeaderValue::from_static(EXPOSED);
            response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        if *refused.request.method() == Method::HEAD {
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        } else {
            *response.body_mut() = body;
        }
        response
    }

    fn respond_at_length(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let client = Client::classify(refused.request.method(), refused.request.headers());
        let (reason, status) = (refused.reason.clone(), StatusCode::TOO_MANY_REQUESTS);
        let room = Arc::clone(refused.room);
        let answer = Answer::new(room, &client, Outcome::Refuse, reason, status, refused.now)
            .with_retry_after(refused.retry_after.map(|time| time.min(LONGEST_WAIT)));
        let mut response = respond(&answer, refused.page, client.is_head);
        refused.report().write(response.headers_mut(), self.profile);
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

impl<'a> Refused<'a> {
    fn report(&self) -> Report<'a> {
        Report::new(self.told, self.retry_after.map(whole_seconds), self.now)
    }

    fn violated(&self) -> impl Iterator<Item = &'a Told<'a>> {
        self.told.iter().filter(|told| !told.decision.allowed)
    }

    /// The problem document: the one of the policy if it is only one, or else one for all of them.
    fn problem(&self) -> Bytes {
        let mut violated = self.violated();
        match (violated.next(), violated.next()) {
            (Some(only), None) => only.line.problem.clone(),
            _ => {
                let names: Vec<&str> = self.violated().map(|told| told.line.name()).collect();
                let details: Vec<&str> = self.violated().map(|it| &*it.line.detail).collect();
                problem::quota_exceeded(&names, &details.join(" ")).unwrap_or_default().into()
            }
        }
    }
}

/// The headers without those that were not set: when to come back, where there is no point in it.
fn without_empty(headers: HeaderMap) -> HeaderMap {
    let said = headers.into_iter().filter(|(_, value)| !value.is_empty());
    said.filter_map(|(name, value)| Some((name?, value))).collect()
}

/// Beyond this, the number of seconds is longer than that of a header may be.
const LONGEST_WAIT: Duration = Duration::from_secs(Quota::MAX_LIMIT);

#[cfg(test)]
mod tests;
