//! The decisions that answer a request without the application.
//!
//! Each stage that stops a request makes a [`Reply`]: a value with the outcome, the reason, the
//! time to come back, and the stage that decided. It has neither headers nor text: these follow
//! later, in `respond/responder.rs`, from what the client can read. So all refusals of the layer
//! look alike, and the stages need not know the forms of an answer.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode, Version,
    header::{CACHE_CONTROL, CONTENT_LENGTH, TRANSFER_ENCODING},
};
use waiting_room_core::{
    Reason, RoomRules, Ticket, Timestamp,
    gate::{GateRefused, RefusedBecause},
    rate::Decision,
};

use crate::{
    ambient::random_bytes,
    gate::{GateLine, GateRef, GateStatuses},
    rate::{Policy, RateReport},
    request::RequestHead,
    respond::{About, Outcome},
};

/// A decision that answers a request without the application.
pub(crate) struct Reply {
    pub(super) outcome: Outcome,
    pub(super) reason: Reason,
    /// The time after which to repeat the request; `None` if that is pointless.
    pub(super) retry_after: Option<Duration>,
    by: By,
}

/// The part of the layer that has decided, with what its answer needs.
enum By {
    /// The application's challenge, with its own answer to a newcomer; `None` once that was taken.
    Application(Option<Box<Response<Bytes>>>),
    /// The gates, for a reason on the side of the client: it has disconnected, or lacks the key by
    /// which a gate is chosen.
    Client,
    /// A gate without a permit for the request.
    Gate(GateRef, RefusedBecause),
    /// A limit, because the request lacks its key.
    Key,
    /// The limits: at least one is exceeded. The report of the request has the details.
    Limits,
    /// The pace at which tickets may be shown.
    Pace,
    /// The room, or its store by not answering.
    Room,
    /// A limit or a gate that needs the client's address, which the server does not report.
    SetUp,
    /// The store of the limits: it does not answer, or has too much to decide.
    Store,
}

impl Reply {
    /// Lets the script of the waiting page reload the page.
    pub(super) fn admitted_poll(reason: Reason) -> Self {
        Self { outcome: Outcome::Admit, reason, retry_after: None, by: By::Room }
    }

    /// Makes a visitor wait in line, until its ticket is due.
    pub(super) fn queued(reason: Reason, ticket: &Ticket, now: Timestamp) -> Self {
        let retry_after = Some(ticket.retry_after(now));
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// Refuses a visitor in the name of the room.
    pub(super) fn turned_away(reason: Reason, retry_after: Option<Duration>) -> Self {
        Self { outcome: Outcome::Refuse, reason, retry_after, by: By::Room }
    }

    /// Sends the application's challenge to a newcomer. Unless the answer states otherwise, it must
    /// not be cached (`no-store`): a cached challenge would be shown to visitors that have passed
    /// it.
    pub(super) fn challenged(mut response: Response<Bytes>) -> Self {
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().entry(CACHE_CONTROL).or_insert(no_store);
        let by = By::Application(Some(Box::new(response)));
        Self::refused(Reason::RefusedChallenged, None, by)
    }

    /// Refuses a ticket that is shown more often than any client that obeys `Retry-After` would
    /// show it.
    pub(super) fn too_often(pause: Duration) -> Self {
        Self::refused(Reason::RefusedTooOften, Some(pause), By::Pace)
    }

    /// Makes a visitor wait because the store of the room does not answer. A place in the line is
    /// kept.
    ///
    /// The visitor is asked to retry after 5 s, or earlier if one of two things could lapse before
    /// then. One is its session, if the store has admitted it although the answer did not arrive:
    /// hence half a session. The other is its order of arrival, which outlasts the refresh
    /// interval.
    pub(super) fn room_unavailable(rules: &RoomRules) -> Self {
        // A pass is renewed after an eighth of a session, so four of these are half a session.
        let half_a_session = rules.renew_after() * 4;
        let longest = half_a_session.min(rules.refresh_interval());
        let retry_after = Some(UNAVAILABLE_RETRY.min(longest));
        let reason = Reason::StoreUnavailable;
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// Makes a visitor wait because this node has more to ask than the store of the room decides in
    /// time. A place in the line is kept.
    pub(super) fn room_overloaded(retry_after: Duration) -> Self {
        let (reason, retry_after) = (Reason::QueuedStoreBusy, Some(retry_after));
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// Refuses a request that exceeds a limit. Of several, the one with the longest wait is the
    /// reason.
    pub(super) fn over_limit(report: &RateReport) -> Self {
        let (policy, retry_after) = report.binding();
        Self::refused(policy.reason(), retry_after, By::Limits)
    }

    /// Refuses a request without the key of a limit. It cannot be repeated with success as it is,
    /// so there is no time to come back.
    pub(super) fn key_missing(policy: &Policy) -> Self {
        let reason = Reason::RefusedKeyMissing(policy.name.clone());
        Self::refused(reason, None, By::Key)
    }

    /// Refuses a request because a limit or a gate needs the client's address, which the server
    /// does not report.
    pub(super) fn address_unknown() -> Self {
        Self::refused(Reason::RefusedAddressUnknown, None, By::SetUp)
    }

    /// Refuses a request because the store of the limits does not answer.
    pub(super) fn limits_unavailable() -> Self {
        Self::refused(Reason::RefusedLimitsUnavailable, Some(UNAVAILABLE_RETRY), By::Store)
    }

    /// Refuses a request because this node has more to ask than the store of the limits decides in
    /// time. Clients are asked to retry after 5 to 10 s at random, so that they do not all return
    /// at once.
    pub(super) fn limits_overloaded() -> Self {
        let [chance] = random_bytes();
        let retry_after = UNAVAILABLE_RETRY + Duration::from_secs(u64::from(chance) % SPREAD_SECS);
        Self::refused(Reason::RefusedLimitsBusy, Some(retry_after), By::Store)
    }

    /// Refuses a request for which a gate has no permit.
    ///
    /// After a timeout, the status decides about `Retry-After`. A 503 asks the client to come back,
    /// so it needs a time. A 504 reports only that nothing came of this request.
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

    /// Ends a request whose client has disconnected at a gate. No client reads this answer; it
    /// gives the request its reason in logs and metrics.
    pub(super) fn client_gone() -> Self {
        Self::refused(Reason::RefusedGateCancelled, None, By::Client)
    }

    /// Refuses a request without the key by which a gate is chosen.
    pub(super) fn gate_unknown() -> Self {
        Self::refused(Reason::RefusedGateUnknown, None, By::Client)
    }

    /// The subject of the answer, which decides about its status and its text. `rules` are those of
    /// the room, for an answer about it, and `ticket` describes the place in its line.
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

    /// Takes out the answer, if it is the application's own.
    pub(super) fn take_answer(&mut self) -> Option<Response<Bytes>> {
        match &mut self.by {
            By::Application(answer) => answer.take().map(|answer| *answer),
            _ => None,
        }
    }

    /// Whether the answer describes the room, and so needs its rules.
    pub(super) const fn is_of_room(&self) -> bool {
        matches!(self.by, By::Room)
    }

    /// Whether the answer has the headers of the limits. They are left out where they would not
    /// explain it: in a challenge, in answers of the room or about the pace of tickets, and where
    /// the server is not set up for the layer.
    pub(super) const fn tells_of_limits(&self) -> bool {
        !matches!(self.by, By::Application(_) | By::Pace | By::Room | By::SetUp)
    }

    /// The header line by which a gate describes itself in its refusal, with nothing remaining
    /// until `retry_after`.
    pub(super) fn own_line(&self) -> Option<(Arc<GateLine>, Decision)> {
        match &self.by {
            By::Gate(gate, _) => {
                let reset = self.retry_after.unwrap_or_default();
                Some((gate.line()?, Decision::new(0, 0, reset, self.retry_after)))
            }
            // Listed one by one, so that a new variant has to be decided here.
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

    /// Whether the connection is to be closed after the answer:
    ///
    /// - while a gate is drained, because the service goes down, and
    /// - if a refused request has a body that is large or of unknown length. A server has to read
    ///   it to its end before the next request on the connection (RFC 9112 section 9.6).
    ///
    /// A stream of HTTP/2 ends alone, so its connection stays open in both cases.
    pub(super) fn closes(&self, head: RequestHead<'_>) -> bool {
        let headers = head.headers();
        let len = || headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok();
        let has_large_body =
            || headers.contains_key(TRANSFER_ENCODING) || len().is_some_and(|len| len > LARGE);
        matches!(self.by, By::Client | By::Gate(..) | By::SetUp)
            && head.version() <= Version::HTTP_11
            && (self.reason == Reason::RefusedGateDrained || has_large_body())
    }

    /// A refusal.
    fn refused(reason: Reason, retry_after: Option<Duration>, by: By) -> Self {
        Self { outcome: Outcome::Refuse, reason, retry_after, by }
    }
}

/// The status of a gate's refusal, as [`GateStatuses`] documents it.
fn gate_status(gate: &GateRef, because: RefusedBecause) -> StatusCode {
    match (gate.concurrency().statuses, because) {
        (_, RefusedBecause::Drained) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Limiter, RefusedBecause::TimedOut) => StatusCode::GATEWAY_TIMEOUT,
        (GateStatuses::Origin, RefusedBecause::TimedOut) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Origin, _) if !gate.is_by_key() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// The largest body, in bytes, that is worth reading to keep the connection.
const LARGE: u64 = 64 * 1024;

/// The time after which a client may ask again if a store could not decide about it.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(5);

/// The retries of clients of an overloaded node are spread over this many seconds: 0 to 5 s are
/// added.
const SPREAD_SECS: u64 = 6;
