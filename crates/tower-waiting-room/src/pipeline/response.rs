//! Responses on their way out: the application's, with what it is told before, and the layer's own.

use std::{
    mem,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode,
    header::CONNECTION,
};
use smallvec::SmallVec;
use waiting_room_core::{Reason, Store};

use super::{
    order::{Journey, Pipeline},
    reply::Reply,
};
use crate::{
    config::DebugHeader,
    gate::PermitHandle,
    rate::RateReport,
    rate_headers::{PolicyState, write},
    request::{Findings, RequestHead},
    respond::{OUTCOME_HEADER, Unforwarded},
    room::Visitor,
    token::TokenSource,
};

/// With `revoke` on a response, the application ends the session of the visitor. Stripped.
pub const COMMAND_HEADER: HeaderName = HeaderName::from_static("waiting-room-command");

/// The same under the name that Cloudflare's product gave it.
const CLOUDFLARE_COMMAND_HEADER: HeaderName = HeaderName::from_static("cf-waiting-room-command");

/// The reason, where [`DebugHeader::On`] asks for it.
pub const REASON_HEADER: HeaderName = HeaderName::from_static("waiting-room-reason");

/// Why a response is what it is.
///
/// `None` on the path that most requests take: the visitor has a valid pass, or there is no room
/// and the limits allowed the request.
pub fn reason_of<B>(response: &Response<B>) -> Option<&Reason> {
    response.extensions().get()
}

impl<St: Store> Pipeline<St> {
    /// Gives the application its handles; those that an outer layer has put there stay.
    pub(crate) fn insert_extensions(&self, journey: &mut Journey, extensions: &mut Extensions) {
        if let (Visitor::Inside(pass), Some(room)) = (&journey.visitor, &self.room) {
            extensions.insert(room.visit(*pass, journey.admitted.clone()));
        }
        if let Some(report) = &mut journey.report {
            report.insert_extensions(extensions);
        }
        if !journey.permits.is_empty() {
            let ours = PermitHandle::new(journey.permits.clone());
            let all = match extensions.remove::<PermitHandle>() {
                Some(outer) => ours.and(outer),
                None => ours,
            };
            extensions.insert(all);
        }
    }

    /// Finishes the response of the application: a session that it ends, a fresh pass, the limits'
    /// headers, the reason. Ready once it can be sent.
    pub(crate) fn poll_finish<B>(
        &self,
        journey: &mut Journey,
        response: &mut Response<B>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if let Some(leaving) = &mut journey.leaving {
            return leaving.as_mut().poll(cx);
        }
        if let Some(renewal) = &mut journey.renewal {
            ready!(renewal.poll_end(cx));
        }
        let is_revoked = take_command(response.headers_mut());
        if let Some(room) = &self.room {
            let (source, headers) = (journey.source, response.headers_mut());
            if let Visitor::Inside(pass) = &journey.visitor {
                journey.leaving = room.end(pass, is_revoked, source, headers);
            }
            if journey.leaving.is_none() {
                let renewed = journey.renewal.as_ref().and_then(|it| room.renewed_token(it));
                if let Some(token) = renewed.or_else(|| journey.token.take()) {
                    room.attach(headers, source, token);
                }
            }
            if let Some(undelivered) = journey.undelivered.take() {
                undelivered.sent();
            }
        }
        if let Some(report) = &journey.report
            && !self.rate_headers.is_empty()
        {
            let told = lines(report);
            let status = response.status();
            write(response.headers_mut(), status, self.rate_headers, &told, report.at);
        }
        self.explain(response, journey.reason());
        match &mut journey.leaving {
            Some(leaving) => leaving.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Answers a request without the application. What it was given on its way, such as a pass,
    /// goes to the client all the same.
    pub(crate) fn reply<B>(
        &self,
        request: &mut Request<B>,
        findings: &Findings,
        journey: &mut Journey,
        mut reply: Reply,
    ) -> Response<Bytes> {
        let mut response = match reply.take_answer() {
            Some(answer) => answer,
            None => self.written(self.head(request, findings), journey, &reply),
        };
        // The map of the request's extensions is of no more use to it. To make a new one costs a
        // flood of refusals three allocations for each.
        let mut extensions = mem::take(request.extensions_mut());
        extensions.clear();
        *response.extensions_mut() = extensions;
        self.explain(&mut response, reply.reason);
        response
    }

    /// An answer without its reason.
    fn written(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
        reply: &Reply,
    ) -> Response<Bytes> {
        // Other requests get these while the answer is written.
        journey.permits.clear();
        let own = reply.own_line();
        let report = journey.report.as_ref().filter(|_| reply.tells_of_limits());
        let mut told = report.map(|report| lines(report)).unwrap_or_default();
        if let Some((own, decision)) = &own {
            told.push(PolicyState { line: &own.line, decision });
        }
        let rules = reply.is_of_room().then(|| self.store.rules());
        let token = match (&self.room, &journey.token, journey.source) {
            (Some(room), Some(token), TokenSource::Header) => Some(room.line(token)),
            _ => None,
        };
        let mut response = self.responder.respond(&Unforwarded {
            request: head,
            outcome: reply.outcome,
            reason: &reply.reason,
            about: reply.about(rules.as_deref(), journey.ticket()),
            retry_after: reply.retry_after,
            told: &told,
            token: token.as_deref(),
            now: journey.now,
        });
        if let (Some(room), Some(token)) = (&self.room, journey.token.take()) {
            room.attach(response.headers_mut(), journey.source, token);
            if let Some(undelivered) = journey.undelivered.take() {
                undelivered.sent();
            }
        }
        if reply.closes(head) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }

    /// Says why a response is what it is: in its extensions, unless it is the common case of a
    /// valid pass or of limits alone, and in a header if that is wanted.
    fn explain<B>(&self, response: &mut Response<B>, reason: Reason) {
        if self.debug_header == DebugHeader::On
            && let Ok(value) = HeaderValue::try_from(reason.to_string())
        {
            response.headers_mut().insert(REASON_HEADER, value);
        }
        if !matches!(reason, Reason::AdmittedLimits | Reason::AdmittedPass) {
            response.extensions_mut().insert(reason);
        }
    }
}

impl Journey {
    /// Goes on with the renewal of a pass while the application works.
    pub(crate) fn poll_renewal(&mut self, cx: &mut Context<'_>) {
        if let Some(renewal) = &mut self.renewal {
            renewal.advance(cx);
        }
    }

    /// The head of the response is there: permits that are not held by its body are free. A waiting
    /// room further inside has a waiting page of the same status, which is no overload.
    pub(crate) fn answered<B>(&mut self, response: &Response<B>) {
        let is_overloaded = OVERLOADED.contains(&response.status())
            && !response.headers().contains_key(OUTCOME_HEADER);
        self.permits.retain(|permit| permit.is_held_after_head(is_overloaded));
    }
}

/// The lines of the limits that applied to a request. Pushed one by one: most requests have one,
/// and to collect them reserves first.
fn lines(report: &RateReport) -> SmallVec<[PolicyState<'_>; 2]> {
    let mut told = SmallVec::new();
    report.lines().for_each(|line| told.push(line));
    told
}

/// Takes the application's commands off the response; says whether one of them was to revoke.
fn take_command(headers: &mut HeaderMap) -> bool {
    let mut is_revoked = false;
    // A response has few headers, so to read their names is less than to look two up.
    let commands = [COMMAND_HEADER, CLOUDFLARE_COMMAND_HEADER];
    if !headers.keys().any(|name| commands.contains(name)) {
        return false;
    }
    for name in commands {
        if let Some(value) = headers.remove(name) {
            is_revoked |= value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"revoke");
        }
    }
    is_revoked
}

/// The statuses by which an application says that it cannot keep up.
const OVERLOADED: [StatusCode; 2] = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
