//! The gate, between the room and the application.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, Version, header};
use smallvec::SmallVec;
use waiting_room_core::{Decision, GateRefused, Reason, RefusedBecause, Store, Timestamp};

use super::{Forward, Gatekeeper, Step, settle};
use crate::{
    config::Enforcement,
    gate::{GateStatuses, Gated, NamedGate, Queued, Waited, Waiting},
    request::{Client, ClientKind, RequestHead},
    respond::{self, Answer, Outcome},
    telemetry::GateEvent,
};

/// A request that waits for a permit.
pub(crate) struct Queue {
    pub(crate) waiting: Box<Waiting>,
    pub(crate) forward: Forward,
}

impl<St: Store> Gatekeeper<St> {
    /// Sends a request that would be forwarded through the gates.
    pub(super) fn through_gates(&self, head: RequestHead<'_>, step: Step) -> Step {
        match step {
            Step::Forward(forward) if !self.gates.is_empty() => {
                // A leaky queue may have held it since its limits were asked.
                let since = forward.told.as_ref().map(|told| told.at);
                let gated = self.gates.enter(&self.rates.caller(head), since);
                self.gated(head, forward, gated)
            }
            step => step,
        }
    }

    /// Goes on with a request that has waited at a gate.
    pub(crate) fn waited(
        &self,
        head: RequestHead<'_>,
        queued: Queued,
        forward: Forward,
        waited: Waited,
    ) -> Step {
        let gated = match waited {
            Waited::Granted(permit) => self.gates.granted(&self.rates.caller(head), queued, permit),
            Waited::Refused(refused) => Gated::Refused(queued.gate, refused),
            Waited::Gone => {
                let reason = Reason::RefusedGateCancelled;
                return Step::Answer(self.refuse_at_gate(head, forward, reason, None));
            }
        };
        self.gated(head, forward, gated)
    }

    fn gated(&self, head: RequestHead<'_>, mut forward: Forward, gated: Gated) -> Step {
        let is_shadow = self.config.enforcement == Enforcement::Shadow;
        let (reason, at) = match gated {
            Gated::Admitted(held) => {
                forward.held = held;
                return Step::Forward(forward);
            }
            Gated::Waiting(waiting) if !is_shadow => {
                return Step::Queue(Box::new(Queue { waiting, forward }));
            }
            Gated::Waiting(waiting) => {
                waiting.pass_by();
                return Step::Forward(forward);
            }
            Gated::Unknown => (Reason::RefusedGateUnknown, None),
            Gated::Refused(gate, mut refused) => {
                gate.report(GateEvent::of(refused.because));
                if is_asked_back(&gate, refused.because) {
                    refused.retry_after = Some(gate.gate().retry_after(self.store.now()));
                }
                (reason_of(refused.because), Some((gate, refused)))
            }
        };
        if is_shadow {
            self.telemetry.verdict(&reason);
            return Step::Forward(forward);
        }
        Step::Answer(self.refuse_at_gate(head, forward, reason, at))
    }

    /// Answers a request that a gate does not let in. What it was given before on its way, such as
    /// a pass, goes to the client all the same.
    fn refuse_at_gate(
        &self,
        head: RequestHead<'_>,
        forward: Forward,
        reason: Reason,
        at: Option<(NamedGate, GateRefused)>,
    ) -> Response<Bytes> {
        let now = self.store.now();
        let client = Client::classify(head.method(), head.headers());
        let status = status(&client, at.as_ref().map(|(gate, refused)| (gate, refused.because)));
        let retry_after = at.as_ref().and_then(|(_, refused)| refused.retry_after);
        self.telemetry.verdict(&reason);
        let room = Arc::clone(&self.room);
        let answer = Answer::new(room, &client, Outcome::Refuse, reason, status, now)
            .with_retry_after(retry_after);
        let mut response = respond::respond(&answer, &self.config.page, client.is_head);
        self.tell_of_gate(&forward, at.as_ref(), now, &mut response);
        if let Some(token) = forward.token {
            self.attach(response.headers_mut(), forward.source, token);
        }
        if closes(&head, &answer.reason) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        settle::explain(&mut response, answer.reason, self.config.debug_header);
        response
    }

    /// Tells of the rate limits that allowed the request, and of the gate that did not.
    fn tell_of_gate(
        &self,
        forward: &Forward,
        at: Option<&(NamedGate, GateRefused)>,
        now: Timestamp,
        response: &mut Response<Bytes>,
    ) {
        let line = at.map(|(gate, refused)| (gate.line(), refused.retry_after));
        let of_gate = line.as_ref().and_then(|(line, retry_after)| {
            let line = line.as_ref()?;
            let reset = retry_after.unwrap_or_default();
            Some((line, Decision::new(0, 0, reset, *retry_after)))
        });
        let told = forward.told.iter().flat_map(|told| told.lines());
        let gate = of_gate.iter().map(|(line, decision)| respond::Told { line, decision });
        let lines: SmallVec<[respond::Told<'_>; 2]> = told.chain(gate).collect();
        let retry_after = at.and_then(|(_, refused)| refused.retry_after);
        let profile = self.config.rates.headers;
        respond::tell_refused(response.headers_mut(), profile, &lines, retry_after, now);
    }
}

/// The status of a refusal; that of gRPC is in its trailers.
fn status(client: &Client, at: Option<(&NamedGate, RefusedBecause)>) -> StatusCode {
    if client.kind == ClientKind::Grpc {
        return StatusCode::OK;
    }
    // Without a gate it is the client's own doing: it has left, or does not say who it is.
    let Some((gate, because)) = at else { return StatusCode::TOO_MANY_REQUESTS };
    match (gate.concurrency().statuses, because) {
        (_, RefusedBecause::Drained) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Limiter, RefusedBecause::TimedOut) => StatusCode::GATEWAY_TIMEOUT,
        (GateStatuses::Origin, RefusedBecause::TimedOut) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Origin, _) if !gate.is_by_key() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// Whether one who has waited for too long is told when to come back: by a 503, and not by a 504,
/// which says that nothing came of this request rather than that there is no room.
fn is_asked_back(gate: &NamedGate, because: RefusedBecause) -> bool {
    gate.concurrency().statuses == GateStatuses::Origin && because == RefusedBecause::TimedOut
}

fn reason_of(because: RefusedBecause) -> Reason {
    match because {
        RefusedBecause::Drained => Reason::RefusedGateDrained,
        RefusedBecause::Shed => Reason::RefusedGateShed,
        RefusedBecause::TimedOut => Reason::RefusedGateTimeout,
        _ => Reason::RefusedGateFull,
    }
}

/// Whether the connection is to be closed: while the service goes down, and where a large body was
/// not read, which a server would have to read to its end before the next request (RFC 9112 section
/// 9.6). Streams of HTTP/2 need neither.
fn closes(head: &RequestHead<'_>, reason: &Reason) -> bool {
    let headers = head.headers();
    let len = || headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok();
    let has_large_body =
        || headers.contains_key(header::TRANSFER_ENCODING) || len().is_some_and(|len| len > LARGE);
    head.version() <= Version::HTTP_11
        && (*reason == Reason::RefusedGateDrained || has_large_body())
}

/// A body of more bytes is not worth reading for the connection's sake.
const LARGE: u64 = 64 * 1024;
