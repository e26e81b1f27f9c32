//! The two kinds of responses: those of the application, which the layer completes, and the answers
//! of the layer itself.
//!
//! ```text
//!  forwarded:  insert_extensions ─► application ─► answered ─► poll_finish ─► response
//!                                                  (head)     (token, headers, reason)
//!  not:        reply ─► Responder ─► response
//! ```
//!
//! Before the application runs, the request gets handles in its extensions. Afterwards, permits
//! that end with the head are released, a session that the application has ended is ended in the
//! store, and the response gets the visitor's token, the headers of the limits, and the reason.

use std::{
    mem,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode, header::CONNECTION};
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
    respond::{
        CLOUDFLARE_COMMAND_HEADER, COMMAND_HEADER, OUTCOME_HEADER, REASON_HEADER, Unforwarded,
    },
    room::{TokenSource, Visitor},
};

impl<St: Store> Pipeline<St> {
    /// Puts the handles for the application into the extensions of a request.
    ///
    /// Handles of an outer layer on permits and charges are merged into those of this layer, so
    /// that one call of the application reaches both. The `Visit` of an outer room is replaced.
    pub(crate) fn insert_extensions(&self, journey: &mut Journey, extensions: &mut Extensions) {
        if let (Visitor::Inside(pass), Some(room)) = (&journey.visitor, &self.room) {
            extensions.insert(room.visit(*pass, journey.admitted.clone()));
        }
        if let Some(report) = &mut journey.report {
            report.insert_extensions(extensions);
        }
        if !journey.permits.is_empty() {
            // Clones of the `Arc`s: if the application keeps the handle, the permits are held
            // beyond the response.
            let ours = PermitHandle::new(journey.permits.clone());
            let all = match extensions.remove::<PermitHandle>() {
                Some(outer) => ours.and(outer),
                None => ours,
            };
            extensions.insert(all);
        }
    }

    /// Completes the response of the application: ends the session if the application has ended it,
    /// attaches a fresh pass, and writes the headers of the limits and the reason. Ready once the
    /// response can be sent.
    ///
    /// Everything between the two waits happens exactly once. While the renewal is pending, nothing
    /// has been changed yet; while the end of the session is pending, everything is done, and only
    /// the call of the store is polled again.
    pub(crate) fn poll_finish<B>(
        &self,
        journey: &mut Journey,
        response: &mut Response<B>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        // The response is complete, and waits only for the store to end the session.
        if let Some(leaving) = &mut journey.leaving {
            return leaving.as_mut().poll(cx);
        }
        if let Some(renewal) = &mut journey.renewal {
            ready!(renewal.poll_end(cx));
        }
        // The renewal is over or was left behind, so nothing below this line runs twice.
        let is_revoked = take_command(response.headers_mut());
        if let Some(room) = &self.room {
            let (source, headers) = (journey.source, response.headers_mut());
            if let Visitor::Inside(pass) = &journey.visitor {
                journey.leaving = room.end(pass, is_revoked, source, headers);
            }
            // A session that has just ended gets no token. A renewed pass replaces one that was
            // admitted in this request or taken over from another one.
            if journey.leaving.is_none() {
                let renewed = journey.renewal.as_ref().and_then(|it| room.renewed_token(it));
                if let Some(token) = renewed.or_else(|| journey.token.take()) {
                    room.attach(headers, source, token);
                }
            }
            // Either the pass is attached, or the session was ended above: in both cases the guard
            // must not end it again.
            if let Some(undelivered) = journey.undelivered.take() {
                undelivered.sent();
            }
        }
        // The status matters: a redirect must not look exhausted, or clients would not follow it.
        if let Some(report) = &journey.report
            && !self.rate_headers.is_empty()
        {
            let told = lines(report);
            let status = response.status();
            write(response.headers_mut(), status, self.rate_headers, &told, report.at);
        }
        self.explain(response, journey.reason());
        // Polled here for the first time, since the future does nothing before. The slot is free
        // when the client gets the response, and can be taken by its next request.
        match &mut journey.leaving {
            Some(leaving) => leaving.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Answers a request without the application. A token that the request was given by a stage is
    /// sent all the same: a visitor that is admitted and then stopped by a gate keeps its pass.
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
        // The map of the request's extensions is reused, because the request does not need it any
        // more. A new one costs three allocations, for each response in a flood of refusals. It is
        // cleared first: handles of an outer layer must not get into the response, where they would
        // hold permits.
        let mut extensions = mem::take(request.extensions_mut());
        extensions.clear();
        *response.extensions_mut() = extensions;
        self.explain(&mut response, reply.reason);
        response
    }

    /// Renders a reply and attaches the token. The reason is added by the caller.
    fn written(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
        reply: &Reply,
    ) -> Response<Bytes> {
        // The request does not run, so its permits are released before the answer is rendered.
        journey.permits.clear();
        // A gate describes itself in the same headers as the limits, behind them.
        let own = reply.own_line();
        let report = journey.report.as_ref().filter(|_| reply.tells_of_limits());
        let mut told = report.map(|report| lines(report)).unwrap_or_default();
        if let Some((own, decision)) = &own {
            told.push(PolicyState { line: &own.line, decision });
        }
        // The rules are those of the moment of the answer, and only for answers that describe the
        // room.
        let rules = reply.is_of_room().then(|| self.store.rules());
        // A client without cookies finds the token also in the body of the answer.
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
                // The newcomer gets its pass, although another stage stopped this request.
                undelivered.sent();
            }
        }
        if reply.closes(head) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }

    /// Records the reason of a response in its extensions and, if the configuration asks for it, in
    /// a header. The two most common reasons, a valid pass and allowed by the limits alone, are
    /// left out of the extensions: most responses then need no map for them.
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
    /// Polls the renewal of the pass, if there is one, while the application works.
    pub(crate) fn poll_renewal(&mut self, cx: &mut Context<'_>) {
        if let Some(renewal) = &mut self.renewal {
            renewal.advance(cx);
        }
    }

    /// Records the head of the application's response. Permits that are not held by the body are
    /// released here, before the response waits for the store.
    ///
    /// The waiting page of a room further inside has an overload status too, but is no sign of
    /// overload. It is recognized by its header.
    pub(crate) fn answered<B>(&mut self, response: &Response<B>) {
        // The status is judged here, and a sample is taken when the permit is released: a permit
        // that the body holds may be released much later.
        let is_overloaded = OVERLOADED.contains(&response.status())
            && !response.headers().contains_key(OUTCOME_HEADER);
        self.permits.retain(|permit| permit.is_held_after_head(is_overloaded));
    }
}

/// The header lines of the limits that applied to a request. Pushed one by one, because `collect`
/// reserves space first, and most requests have only one.
fn lines(report: &RateReport) -> SmallVec<[PolicyState<'_>; 2]> {
    let mut told = SmallVec::new();
    report.lines().for_each(|line| told.push(line));
    told
}

/// Removes the application's commands from the headers, and returns whether one of them is
/// `revoke`. They are for this layer only, so the client must not see them.
fn take_command(headers: &mut HeaderMap) -> bool {
    let mut is_revoked = false;
    // A response has few headers: reading their names once is cheaper than two lookups by hash.
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

/// The statuses by which an application reports that it cannot keep up (RFC 9110 sections 15.6.4
/// and 15.6.5).
const OVERLOADED: [StatusCode; 2] = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
