//! The two kinds of responses: responses from the application, which the layer completes, and
//! answers that the layer itself gives.
//!
//! ```text
//!  forwarded:  insert_extensions ─► application ─► keep_for_body ─► poll_finish ─► response
//!                                                  (head)          (token, headers, reason)
//!  not:        reply ─► Responder ─► response
//! ```
//!
//! Before the application runs, the layer inserts handles into the request's extensions. After the
//! application has responded, permits that are held only until the response head are released. If
//! the application has ended the visitor's session, the store ends it too. Finally, the visitor's
//! token, the rate limit headers and the reason are added to the response.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode, header::CONNECTION};
use smallvec::SmallVec;
use waiting_room_core::Reason;

use super::{journey::Journey, order::Pipeline, reply::Reply};
use crate::{
    config::DebugHeader,
    gate::{PermitHandle, Permits},
    rate::{RateReport, Rated},
    rate_headers::{Field, PolicyState, write},
    request::{Findings, RequestHead},
    respond::{
        CLOUDFLARE_COMMAND_HEADER, COMMAND_HEADER, OUTCOME_HEADER, REASON_HEADER, Unforwarded,
    },
    room::{TokenSource, Visitor},
};

impl Pipeline {
    /// Inserts the handles for the application into the extensions of a request.
    ///
    /// The permit and charge handles of an outer layer are merged with the handles of this layer,
    /// so that a single call by the application affects both layers. The `Visit` of an outer room
    /// is replaced.
    #[inline]
    pub(crate) fn insert_extensions(&self, journey: &mut Journey, extensions: &mut Extensions) {
        if let (Visitor::Inside(pass), Some(room)) = (&journey.visitor, &self.room) {
            room.insert_visit(*pass, journey.admitted.clone(), extensions);
        }
        if let Some(report) = &mut journey.report {
            report.insert_extensions(extensions);
        }
        if !journey.permits.is_empty() {
            // The handle contains clones of the `Arc`s, so the permits are held beyond the response
            // if the application keeps the handle.
            PermitHandle::new(journey.permits.clone()).insert(extensions);
        }
    }

    /// Returns whether a forwarded request needs only its permits and its report until the
    /// response: it does not involve a room, and the response does not state its reason.
    #[inline]
    pub(crate) fn is_apart_from_room(&self, journey: &Journey) -> bool {
        let is_inside = matches!(journey.visitor, Visitor::Inside(_));
        let has_token = journey.token.is_some() || journey.renewal.is_some();
        let is_explained =
            matches!(self.debug_header, DebugHeader::On) || !is_common(journey.reason());
        !(is_inside || has_token || is_explained) && journey.undelivered.is_none()
    }

    /// Moves the values that a request holds until its response out of the journey. Returns `None`
    /// if there are none.
    #[inline]
    pub(crate) fn held(self: &Arc<Self>, journey: &mut Journey) -> Option<Held> {
        self.holding(journey.report.take(), mem::take(&mut journey.permits))
    }

    /// Counts a request that is forwarded because the limits [allow](Rated::is_allowed) it, inserts
    /// the handles for the application, and returns the values that the request holds until its
    /// response.
    #[inline(always)]
    pub(crate) fn allowed(
        self: &Arc<Self>,
        rated: Rated,
        extensions: &mut Extensions,
    ) -> Option<Held> {
        self.telemetry.verdict(&Reason::AdmittedLimits);
        let Rated::Pass(mut report) = rated else { return None };
        report.insert_extensions(extensions);
        self.holding(Some(report), Permits::new())
    }

    /// Returns the values that a request holds until its response: its permits, and the report if
    /// headers show it.
    #[inline]
    fn holding(
        self: &Arc<Self>,
        report: Option<Box<RateReport>>,
        permits: Permits,
    ) -> Option<Held> {
        let report = report.filter(|_| !self.rate_headers.is_empty());
        if report.is_none() && permits.is_empty() {
            return None;
        }
        Some(Held { told: report.map(|report| (Arc::clone(self), report)), permits })
    }

    /// Completes the application's response: ends the session in the store if the application has
    /// ended it, attaches the visitor's new token, if there is one, and writes the rate limit
    /// headers and the reason. Returns `Ready` once the response can be sent.
    ///
    /// All steps between the wait for the renewal and the wait for the store happen exactly once.
    /// While the renewal is pending, the response remains unchanged. While the store is ending the
    /// session, the response is already complete, and only the call to the store is polled again.
    pub(crate) fn poll_finish<B>(
        &self,
        journey: &mut Journey,
        response: &mut Response<B>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        // The response is complete, but is held back until the store has ended the session.
        if let Some(leaving) = &mut journey.leaving {
            return leaving.as_mut().poll(cx);
        }
        if let Some(renewal) = &mut journey.renewal {
            ready!(renewal.poll_end(cx));
        }
        // The renewal has ended or has been abandoned, so nothing below this line runs twice.
        let is_revoked = take_command(response.headers_mut());
        if let Some(room) = &self.room {
            let source = journey.source;
            let headers = response.headers_mut();
            if let Visitor::Inside(pass) = &journey.visitor {
                journey.leaving = room.end(pass, is_revoked, source, headers);
            }
            // A session that has just ended gets no token. The token of a pass that this request
            // has renewed takes precedence over `journey.token`, which was issued when this request
            // was admitted or comes from a renewal by another request.
            if journey.leaving.is_none() {
                let renewed =
                    journey.renewal.as_ref().and_then(|renewal| room.renewed_token(renewal));
                if let Some(token) = renewed.or_else(|| journey.token.take()) {
                    room.attach(headers, source, token);
                }
            }
            // The pass has been attached, or the session has been ended, above. In either case, the
            // guard must not end the session.
            if let Some(undelivered) = journey.undelivered.take() {
                undelivered.sent();
            }
        }
        if let Some(report) = &journey.report {
            self.write_limits(report, response);
        }
        self.explain(response, journey.reason());
        // The future does nothing until it is first polled, which happens here. The slot is free by
        // the time the client receives the response, so the client's next request can take it.
        match &mut journey.leaving {
            Some(leaving) => leaving.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }

    /// Adds the rate limit headers to the application's response.
    fn write_limits<B>(&self, report: &RateReport, response: &mut Response<B>) {
        if !self.rate_headers.is_empty() {
            // The status matters, because clients would not follow a redirect whose headers report
            // an exhausted quota.
            let status = response.status();
            write_lines(report, response.headers_mut(), status, self.rate_headers);
        }
    }

    /// Answers a request without calling the application. Any token that a stage has already issued
    /// is still sent: a visitor that the room admitted and a gate then refused keeps its pass.
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
        if let (Some(room), Some(token)) = (&self.room, journey.token.take()) {
            room.attach(response.headers_mut(), journey.source, token);
            if let Some(undelivered) = journey.undelivered.take() {
                // The newcomer gets its pass even though another stage stopped this request.
                undelivered.sent();
            }
        }
        // The extension map of the request is reused, because the request no longer needs it.
        // During a flood of refusals, a new map would cost three allocations per response. The map
        // is cleared first, because handles of an outer layer would hold permits if they were moved
        // into the response.
        let mut extensions = mem::take(request.extensions_mut());
        extensions.clear();
        *response.extensions_mut() = extensions;
        self.explain(&mut response, &reply.reason);
        response
    }

    /// Renders a reply. The caller adds the token and the reason.
    fn written(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
        reply: &Reply,
    ) -> Response<Bytes> {
        // The request does not run, so its permits are released before the answer is rendered.
        journey.permits.clear();
        // A gate is reported in the same headers as the limits, after the limits.
        let own = reply.own_line();
        let mut told = SmallVec::new();
        if let Some(report) = journey.report.as_ref().filter(|_| reply.tells_of_limits()) {
            tell(report, &mut told);
        }
        if let Some((own, decision)) = &own {
            told.push(PolicyState { line: &own.line, decision: *decision });
        }
        // The current rules of the room are loaded only for answers that describe the room.
        let told_of = self.room.as_ref().filter(|_| reply.is_of_room());
        let rules = told_of.map(|room| room.rules());
        let plan = told_of.and_then(|room| room.plan());
        // A client without cookies also gets the token in the body of the answer.
        let token = match (&self.room, &journey.token, journey.source) {
            (Some(room), Some(token), TokenSource::Header) => Some(room.line(token)),
            _ => None,
        };
        let mut response = reply.bare(head).unwrap_or_else(|| {
            self.responder.respond(&Unforwarded {
                request: head,
                outcome: reply.outcome,
                reason: &reply.reason,
                about: reply.about(rules.as_deref(), journey.ticket()),
                retry_after: reply.retry_after,
                told: &told,
                token: token.as_deref(),
                gets_cookie: journey.token.is_some() && journey.source == TokenSource::Cookie,
                plan: plan.as_deref(),
                now: journey.times(&self.clock).now,
            })
        });
        if reply.closes(head) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }

    /// Records the reason for a response in the response's extensions and, if configured, in a
    /// header. The two most common reasons (admission by a valid pass, and admission by the limits
    /// alone) are not stored in the extensions, so most responses need no extension map.
    fn explain<B>(&self, response: &mut Response<B>, reason: &Reason) {
        if matches!(self.debug_header, DebugHeader::On)
            && let Ok(value) = HeaderValue::try_from(reason.to_string())
        {
            response.headers_mut().insert(REASON_HEADER, value);
        }
        if !is_common(reason) {
            response.extensions_mut().insert(reason.clone());
        }
    }
}

/// Returns whether this is a reason that responses do not state in their extensions.
const fn is_common(reason: &Reason) -> bool {
    matches!(reason, Reason::AdmittedLimits | Reason::AdmittedPass)
}

/// The values that a forwarded request holds until its response, if it does not involve a room.
pub(crate) struct Held {
    /// The rate report that the response headers show, together with the pipeline that writes those
    /// headers.
    told: Option<(Arc<Pipeline>, Box<RateReport>)>,
    permits: Permits,
}

impl Held {
    /// Completes the application's response, and returns the permits that its body holds.
    pub(crate) fn finish<B>(mut self, response: &mut Response<B>) -> Permits {
        keep_for_body(&mut self.permits, response);
        if let Some((pipeline, report)) = &self.told {
            pipeline.write_limits(report, response);
        }
        self.permits
    }
}

impl Journey {
    /// Polls the renewal of the pass, if there is one, while the application handles the request.
    pub(crate) fn poll_renewal(&mut self, cx: &mut Context<'_>) {
        if let Some(renewal) = &mut self.renewal {
            renewal.advance(cx);
        }
    }
}

/// Passes the head of the application's response to the permits of a request, and releases the
/// permits that the body does not hold. This happens before the response waits for the store.
///
/// The waiting page of an inner room also has one of the [`OVERLOADED`] statuses, but does not
/// indicate an overload. The page is recognized by its outcome header.
#[inline]
pub(crate) fn keep_for_body<B>(permits: &mut Permits, response: &Response<B>) {
    if permits.is_empty() {
        return;
    }
    // The status is evaluated here, but an adaptive gate takes its sample only when the permit is
    // released, which may be much later if the body holds the permit.
    let is_overloaded =
        OVERLOADED.contains(&response.status()) && !response.headers().contains_key(OUTCOME_HEADER);
    permits.retain(|permit| permit.is_held_after_head(is_overloaded));
}

/// Adds the state of each limit that applied to a request, for the headers of the response. The
/// states are pushed one by one, because `extend` would reserve space first, and most requests have
/// only one state.
fn tell<'a>(report: &'a RateReport, told: &mut SmallVec<[PolicyState<'a>; 2]>) {
    report.lines().for_each(|line| told.push(line));
}

/// Writes the states of the limits into the headers of a response with this status.
fn write_lines(
    report: &RateReport,
    headers: &mut HeaderMap,
    status: StatusCode,
    fields: &'static [Field],
) {
    let mut told = SmallVec::new();
    tell(report, &mut told);
    write(headers, status, fields, &told, report.at);
}

/// Removes the application's commands from the headers, and returns whether one of them is
/// `revoke`. The commands are intended for this layer only, so the client must not see them.
pub(crate) fn take_command(headers: &mut HeaderMap) -> bool {
    let mut is_revoked = false;
    // A response has few headers, so reading all their names once is cheaper than two hash lookups.
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

/// The statuses with which an application reports that it cannot keep up (RFC 9110 sections 15.6.4
/// and 15.6.5).
const OVERLOADED: [StatusCode; 2] = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
