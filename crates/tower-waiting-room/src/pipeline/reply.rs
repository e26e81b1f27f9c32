//! The decisions by which a request is answered without the application.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode, Version,
    header::{CACHE_CONTROL, CONTENT_LENGTH, TRANSFER_ENCODING},
};
use waiting_room_core::{
    Decision, GateRefused, Reason, RefusedBecause, RoomRules, Ticket, Timestamp,
};

use crate::{
    ambient::random_bytes,
    gate::{GateLine, GateRef, GateStatuses},
    rate::{Policy, RateReport},
    request::RequestHead,
    respond::{About, Outcome},
};

/// A decision by which a request is answered without the application.
pub(crate) struct Reply {
    pub(super) outcome: Outcome,
    pub(super) reason: Reason,
    /// When to repeat the request; `None` if that is pointless.
    pub(super) retry_after: Option<Duration>,
    by: By,
}

/// What has decided, with what its answer needs.
enum By {
    /// The application, with its own answer to a newcomer; none once that was taken.
    Application(Option<Box<Response<Bytes>>>),
    /// The gates: the client has left, or cannot be told from others.
    Client,
    Gate(GateRef, RefusedBecause),
    /// A limit, by having no key for the request.
    Key,
    /// The limits, as the report of the request says.
    Limits,
    /// The pace at which tickets may be shown.
    Pace,
    Room,
    /// A limit or a gate that the server is not set up for.
    SetUp,
    /// The store of the limits, by not answering or by having too much to decide.
    Store,
}

impl Reply {
    /// The waiting page's script may reload the page.
    pub(super) fn admitted_poll(reason: Reason) -> Self {
        Self { outcome: Outcome::Admit, reason, retry_after: None, by: By::Room }
    }

    /// A visitor waits in line.
    pub(super) fn queued(reason: Reason, ticket: &Ticket, now: Timestamp) -> Self {
        let retry_after = Some(ticket.retry_after(now));
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// The room does not take a visitor in.
    pub(super) fn turned_away(reason: Reason, retry_after: Option<Duration>) -> Self {
        Self { outcome: Outcome::Refuse, reason, retry_after, by: By::Room }
    }

    /// The application asks a newcomer for a proof, in its own words.
    pub(super) fn challenged(mut response: Response<Bytes>) -> Self {
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().entry(CACHE_CONTROL).or_insert(no_store);
        let by = By::Application(Some(Box::new(response)));
        Self::refused(Reason::RefusedChallenged, None, by)
    }

    /// A ticket is shown more often than any client that obeys shows it.
    pub(super) fn too_often(pause: Duration) -> Self {
        Self::refused(Reason::RefusedTooOften, Some(pause), By::Pace)
    }

    /// The store of the room does not answer; a place in the line is kept. It may have let the visitor
    /// in all the same, whose session must not be over when it asks again; nor may its order of arrival,
    /// which lasts for longer than the refresh interval.
    pub(super) fn room_unavailable(rules: &RoomRules) -> Self {
        let half_a_session = rules.renew_after() * 4;
        let longest = half_a_session.min(rules.refresh_interval());
        let retry_after = Some(UNAVAILABLE_RETRY.min(longest));
        let reason = Reason::StoreUnavailable;
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// The store of the room answers, but this node has more to ask than it decides in time; a place
    /// in the line is kept.
    pub(super) fn room_overloaded(retry_after: Duration) -> Self {
        let (reason, retry_after) = (Reason::QueuedStoreBusy, Some(retry_after));
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// A request exceeds a limit.
    pub(super) fn over_limit(report: &RateReport) -> Self {
        let (policy, retry_after) = report.binding();
        Self::refused(policy.reason(), retry_after, By::Limits)
    }

    /// A client has left out what a limit tells clients apart by.
    pub(super) fn key_missing(policy: &Policy) -> Self {
        let reason = Reason::RefusedKeyMissing(policy.name.clone());
        Self::refused(reason, None, By::Key)
    }

    /// A limit or a gate needs the address of the client, which the server has not told.
    pub(super) fn address_unknown() -> Self {
        Self::refused(Reason::RefusedAddressUnknown, None, By::SetUp)
    }

    /// The store of the limits does not answer.
    pub(super) fn limits_unavailable() -> Self {
        Self::refused(Reason::RefusedLimitsUnavailable, Some(UNAVAILABLE_RETRY), By::Store)
    }

    /// The store of the limits answers, but this node has more to ask than it decides in time. Clients
    /// are spread over some seconds, so that they do not come back at once.
    pub(super) fn limits_overloaded() -> Self {
        let [chance] = random_bytes();
        let retry_after = UNAVAILABLE_RETRY + Duration::from_secs(u64::from(chance) % SPREAD_SECS);
        Self::refused(Reason::RefusedLimitsBusy, Some(retry_after), By::Store)
    }

    /// A gate has no permit for a request. Its client is told when to come back after a 503, but
    /// not after a 504, which says that nothing came of this request rather than that there is no
    /// room.
    pub(super) fn at_gate(gate: GateRef, refused: &GateRefused, now: Timestamp) -> Self {
        let because = refused.because;
        let is_asked_back = gate.concurrency().statuses == GateStatuses::Origin
            && because == RefusedBecause::TimedOut;
        let retry_after = match is_asked_back {
            true => Some(gate.gate().retry_after(now)),
            false => refused.retry_after,
        };
        let reason = match because {
            RefusedBecause::Drained => Reason::RefusedGateDrained,
            RefusedBecause::Shed => Reason::RefusedGateShed,
            RefusedBecause::TimedOut => Reason::RefusedGateTimeout,
            _ => Reason::RefusedGateFull,
        };
        Self::refused(reason, retry_after, By::Gate(gate, because))
    }

    /// A client has left the queue of a gate.
    pub(super) fn client_gone() -> Self {
        Self::refused(Reason::RefusedGateCancelled, None, By::Client)
    }

    /// A request does not say for which gate it is.
    pub(super) fn gate_unknown() -> Self {
        Self::refused(Reason::RefusedGateUnknown, None, By::Client)
    }

    /// What its answer is about: the room, if there are `rules` of one, and the place in its line.
    pub(super) fn about<'a>(
        &self,
        rules: Option<&'a RoomRules>,
        ticket: Option<&'a Ticket>,
    ) -> About<'a> {
        match (&self.by, rules) {
            (By::Room, Some(rules)) => About::Room(rules, ticket),
            (By::Gate(gate, because), _) => About::Gate(gate_status(gate, *because)),
            (By::Limits, _) => About::Limit,
            (By::Pace, _) => About::Pace,
            (By::Application(_) | By::Client | By::Key, _) => {
                About::Service(StatusCode::TOO_MANY_REQUESTS)
            }
            (By::SetUp, _) => About::Service(StatusCode::INTERNAL_SERVER_ERROR),
            (By::Room | By::Store, _) => About::Service(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// The answer, where it is the application's own.
    pub(super) fn take_answer(&mut self) -> Option<Response<Bytes>> {
        match &mut self.by {
            By::Application(answer) => answer.take().map(|answer| *answer),
            _ => None,
        }
    }

    /// Whether its answer is about the room, and so by the rules of it.
    pub(super) const fn is_of_room(&self) -> bool {
        matches!(self.by, By::Room)
    }

    /// Whether its answer tells of the limits that allowed the request, or that did not.
    pub(super) const fn tells_of_limits(&self) -> bool {
        !matches!(self.by, By::Application(_) | By::Pace | By::Room | By::SetUp)
    }

    /// What a gate says of itself in the headers of its refusal.
    pub(super) fn own_line(&self) -> Option<(Arc<GateLine>, Decision)> {
        match &self.by {
            By::Gate(gate, _) => {
                let reset = self.retry_after.unwrap_or_default();
                Some((gate.line()?, Decision::new(0, 0, reset, self.retry_after)))
            }
            By::Application(_)
            | By::Client
            | By::Key
            | By::Limits
            | By::Pace
            | By::Room
            | By::SetUp
            | By::Store => None,
        }
    }

    /// Whether the connection is to be closed: while the service goes down, and where a gate has
    /// left a large body unread, which a server would have to read to its end before the next
    /// request (RFC 9112 section 9.6). Streams of HTTP/2 need neither.
    pub(super) fn closes(&self, head: RequestHead<'_>) -> bool {
        let headers = head.headers();
        let len = || headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok();
        let has_large_body =
            || headers.contains_key(TRANSFER_ENCODING) || len().is_some_and(|len| len > LARGE);
        matches!(self.by, By::Client | By::Gate(..) | By::SetUp)
            && head.version() <= Version::HTTP_11
            && (self.reason == Reason::RefusedGateDrained || has_large_body())
    }

    fn refused(reason: Reason, retry_after: Option<Duration>, by: By) -> Self {
        Self { outcome: Outcome::Refuse, reason, retry_after, by }
    }
}

fn gate_status(gate: &GateRef, because: RefusedBecause) -> StatusCode {
    match (gate.concurrency().statuses, because) {
        (_, RefusedBecause::Drained) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Limiter, RefusedBecause::TimedOut) => StatusCode::GATEWAY_TIMEOUT,
        (GateStatuses::Origin, RefusedBecause::TimedOut) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Origin, _) if !gate.is_by_key() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// A body of more bytes is not worth reading for the connection's sake.
const LARGE: u64 = 64 * 1024;

/// How soon a client asks again about which a store could not decide.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(5);

/// Clients of a node that has too much to ask come back within this many seconds more.
const SPREAD_SECS: u64 = 6;
