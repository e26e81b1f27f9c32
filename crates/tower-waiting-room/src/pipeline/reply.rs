//! The decisions to answer a request without calling the application.
//!
//! Each stage that stops a request returns a [`Reply`] with the outcome, the reason, the time until
//! a retry, and the stage that decided. A reply has neither headers nor text.
//! `respond/responder.rs` adds headers and text later, in a form that the client can read. All
//! refusals by the layer therefore look alike, and the stages need not know the formats of answers.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response, StatusCode, Version,
    header::{
        CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, ORIGIN, RETRY_AFTER,
        TRANSFER_ENCODING,
    },
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
    respond::{About, OUTCOME_HEADER, Outcome, expose},
};

/// A decision to answer a request without calling the application.
pub(crate) struct Reply {
    pub(super) outcome: Outcome,
    pub(super) reason: Reason,
    /// The time after which the client should repeat the request, or `None` if a retry is
    /// pointless.
    pub(super) retry_after: Option<Duration>,
    by: By,
}

/// The part of the layer that made a decision, with the data for the answer.
enum By {
    /// The gates, for a reason on the client's side: the client has disconnected, or its request
    /// lacks the key that selects a gate.
    Client,
    /// A gate that has no permit for the request.
    Gate(GateRef, RefusedBecause),
    /// A limit whose key is missing from the request.
    Key,
    /// The rate limits, at least one of which is exceeded. The report of the request contains the
    /// details.
    Limits,
    /// The pace limits on tickets.
    Pace,
    /// An answer that is already complete, such as the application's challenge or the answer to a
    /// visitor who leaves, or `None` once the answer has been taken.
    Prepared(Option<Box<Response<Bytes>>>),
    /// The room, including the case in which its store does not answer in time.
    Room,
    /// A limit or a gate that needs the client's address, which the server does not provide.
    SetUp,
    /// Either push, or the rule of the room for requests that are not visits. The value is the
    /// status of the answer.
    Status(StatusCode),
    /// The rate limit store, which does not answer or is overloaded.
    Store,
    /// The path of transfers, for a request without a valid link, or from a visitor without a
    /// place.
    Transfer,
}

impl Reply {
    /// Lets the script of the waiting page reload the page.
    pub(super) fn admitted_poll(reason: Reason) -> Self {
        Self { outcome: Outcome::Admit, reason, retry_after: None, by: By::Room }
    }

    /// Redirects a visitor who has opened a link, but needs no place, to the page without the link.
    pub(super) fn without_link(reason: Reason, location: HeaderValue) -> Self {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        headers.insert(LOCATION, location);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let by = By::Prepared(Some(Box::new(response)));
        Self { outcome: Outcome::Admit, reason, retry_after: None, by }
    }

    /// Makes a visitor wait in the line until its ticket is due.
    pub(super) fn queued(reason: Reason, ticket: &Ticket, now: Timestamp) -> Self {
        let retry_after = Some(ticket.retry_after(now));
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// Refuses a visitor on behalf of the room.
    pub(super) fn turned_away(reason: Reason, retry_after: Option<Duration>) -> Self {
        Self { outcome: Outcome::Refuse, reason, retry_after, by: By::Room }
    }

    /// Sends the application's challenge to a newcomer. The response gets `no-store` unless it has
    /// a `Cache-Control` header, because a cached challenge would also be shown to visitors who
    /// have already passed it.
    pub(super) fn challenged(mut response: Response<Bytes>) -> Self {
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().entry(CACHE_CONTROL).or_insert(no_store);
        let by = By::Prepared(Some(Box::new(response)));
        Self::refused(Reason::RefusedChallenged, None, by)
    }

    /// Answers a visitor who has given up its session or its place.
    pub(super) fn left(mut response: Response<Bytes>) -> Self {
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, no_store);
        Self::refused(Reason::Left, None, By::Prepared(Some(Box::new(response))))
    }

    /// Answers a visitor who continues on another device.
    pub(super) fn transferred(mut response: Response<Bytes>) -> Self {
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, no_store);
        Self::refused(Reason::Transferred, None, By::Prepared(Some(Box::new(response))))
    }

    /// Refuses a transfer for a request without a valid link, or from a visitor without a place.
    pub(super) fn no_transfer() -> Self {
        Self::refused(Reason::RefusedTransferInvalid, None, By::Transfer)
    }

    /// Refuses a ticket that is presented more often than a client that obeys `Retry-After` would
    /// present it.
    pub(super) fn too_often(pause: Duration) -> Self {
        Self::refused(Reason::RefusedTooOften, Some(pause), By::Pace)
    }

    /// Opens a push stream.
    pub(super) fn stream(reason: Reason) -> Self {
        Self { outcome: Outcome::Wait, reason, retry_after: None, by: By::Status(StatusCode::OK) }
    }

    /// Opens no push stream, because the visitor does not wait, or no longer waits.
    pub(super) fn nothing_to_push(reason: Reason) -> Self {
        let by = By::Status(StatusCode::NO_CONTENT);
        Self { outcome: Outcome::Admit, reason, retry_after: None, by }
    }

    /// Refuses a push stream.
    pub(super) fn no_stream(
        reason: Reason,
        status: StatusCode,
        retry_after: Option<Duration>,
    ) -> Self {
        Self::refused(reason, retry_after, By::Status(status))
    }

    /// Makes a visitor wait because the store of the room does not answer. A visitor in the line
    /// keeps its place.
    ///
    /// The visitor is asked to retry after 5 s, or earlier if half a session or the refresh
    /// interval is shorter. The store may have admitted the visitor even though its reply did not
    /// arrive, and the session must not lapse before the retry. The store's record of the visitor's
    /// arrival must not lapse either, but the record outlasts the refresh interval.
    pub(super) fn room_unavailable(rules: &RoomRules) -> Self {
        // A pass is renewed after an eighth of a session, so half a session is four times
        // `renew_after`.
        let half_a_session = rules.timing().renew_after() * 4;
        let longest = half_a_session.min(rules.refresh_interval);
        let retry_after = Some(UNAVAILABLE_RETRY.min(longest));
        let reason = Reason::StoreUnavailable;
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// Makes a visitor wait because this node has more requests than the room's store can handle in
    /// time. A visitor in the line keeps its place.
    pub(super) fn room_overloaded(retry_after: Duration) -> Self {
        let reason = Reason::QueuedStoreBusy;
        let retry_after = Some(retry_after);
        Self { outcome: Outcome::Wait, reason, retry_after, by: By::Room }
    }

    /// Refuses a request that exceeds a limit. If the request exceeds several limits, the reason
    /// names the limit with the longest wait.
    pub(super) fn over_limit(report: &RateReport) -> Self {
        let (policy, retry_after) = report.binding();
        Self::refused(policy.reason(), retry_after, By::Limits)
    }

    /// Refuses a request that lacks the key of a limit. Repeating the same request cannot succeed,
    /// so the reply contains no retry time.
    pub(super) fn key_missing(policy: &Policy) -> Self {
        let reason = Reason::RefusedKeyMissing(policy.name.clone());
        Self::refused(reason, None, By::Key)
    }

    /// Refuses a request because a limit or a gate needs the client's address, which the server
    /// does not provide.
    pub(super) fn address_unknown() -> Self {
        Self::refused(Reason::RefusedAddressUnknown, None, By::SetUp)
    }

    /// Refuses a request that may belong to another room, with a short separate document. Only a
    /// client that constructs such paths on purpose receives this document, so it is in English
    /// only.
    pub(super) fn ambiguous_route() -> Self {
        let mut response = Response::new(Bytes::from_static(AMBIGUOUS_ROUTE));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let by = By::Prepared(Some(Box::new(response)));
        Self::refused(Reason::RefusedAmbiguousRoute, None, by)
    }

    /// Asks a crawler to come back later, with a short text, because a crawler could index a page.
    pub(super) fn crawler() -> Self {
        let mut response = Response::new(Bytes::from_static(CRAWLER));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(RETRY_AFTER, HeaderValue::from(CRAWLER_RETRY.as_secs()));
        let by = By::Prepared(Some(Box::new(response)));
        Self::refused(Reason::RefusedCrawler, Some(CRAWLER_RETRY), by)
    }

    /// Refuses a slot and a ticket to a request that is not a visit. The browser does not use the
    /// answer: it discards a speculative answer with this status, and repeats the request for a
    /// visit.
    pub(super) fn not_a_visit() -> Self {
        Self::refused(Reason::RefusedNotAVisit, None, By::Status(StatusCode::SERVICE_UNAVAILABLE))
    }

    /// Refuses a request because the rate limit store does not answer.
    pub(super) fn limits_unavailable() -> Self {
        Self::refused(Reason::RefusedLimitsUnavailable, Some(UNAVAILABLE_RETRY), By::Store)
    }

    /// Refuses a request because this node has more requests than the rate limit store can handle
    /// in time. Clients are asked to retry after a random time of 5 to 10 s, so that they do not
    /// all return at once.
    pub(super) fn limits_overloaded() -> Self {
        let [chance] = random_bytes();
        let retry_after = UNAVAILABLE_RETRY + Duration::from_secs(u64::from(chance) % SPREAD_SECS);
        Self::refused(Reason::RefusedLimitsBusy, Some(retry_after), By::Store)
    }

    /// Refuses a request for which a gate has no permit.
    ///
    /// Clients take a refusal without `Retry-After` as final. RFC 9110 section 10.2.3 allows the
    /// header in any response, so a 504 also has one, and so does the refusal of a drained gate,
    /// because the next request may reach another node.
    pub(super) fn at_gate(gate: GateRef, refused: &GateRefused, now: Timestamp) -> Self {
        let because = refused.because;
        let retry_after = refused.retry_after.unwrap_or_else(|| gate.gate().retry_after(now));
        let reason = match because {
            RefusedBecause::Drained => Reason::RefusedGateDrained,
            RefusedBecause::Evicted | RefusedBecause::Full => Reason::RefusedGateFull,
            RefusedBecause::Shed => Reason::RefusedGateShed,
            RefusedBecause::TimedOut => Reason::RefusedGateTimeout,
        };
        Self::refused(reason, Some(retry_after), By::Gate(gate, because))
    }

    /// Ends a request whose client disconnected while the request was waiting at a gate. No client
    /// reads this answer, but logs and metrics record its reason.
    pub(super) fn client_gone() -> Self {
        Self::refused(Reason::RefusedGateCancelled, None, By::Client)
    }

    /// Refuses a request that lacks the key that selects its gate.
    pub(super) fn gate_unknown() -> Self {
        Self::refused(Reason::RefusedGateUnknown, None, By::Client)
    }

    /// Returns the subject of the answer, which determines the status and the text. An answer about
    /// the room needs `rules`, the room's rules, and `ticket`, which describes the place in the
    /// line.
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
            (By::Prepared(_) | By::Client | By::Key, _) => {
                About::Service(StatusCode::TOO_MANY_REQUESTS)
            }
            (By::Status(status), _) => About::Service(*status),
            (By::SetUp, _) => About::Service(StatusCode::INTERNAL_SERVER_ERROR),
            (By::Transfer, _) => About::Service(StatusCode::FORBIDDEN),
            (By::Room | By::Store, _) => About::Service(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// Takes the response out of the reply if it is already complete.
    pub(super) fn take_answer(&mut self) -> Option<Response<Bytes>> {
        let By::Prepared(answer) = &mut self.by else { return None };
        answer.take().map(|answer| *answer)
    }

    /// Returns the head of an answer that is not a document: a push stream, or an answer without
    /// content.
    pub(super) fn bare(&self, head: RequestHead<'_>) -> Option<Response<Bytes>> {
        if let By::Status(status @ (StatusCode::OK | StatusCode::NO_CONTENT)) = self.by {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = status;
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert(OUTCOME_HEADER, HeaderValue::from_static(self.outcome.as_str()));
            if head.headers().contains_key(ORIGIN) {
                expose(headers);
            }
            if status == StatusCode::OK {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
                // Without this header, nginx would hold events back until its buffer is full.
                headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
            }
            return Some(response);
        }
        None
    }

    /// Returns whether the answer describes the room and therefore needs the room's rules.
    pub(super) const fn is_of_room(&self) -> bool {
        matches!(self.by, By::Room)
    }

    /// Returns whether the answer has the rate limit headers. These headers are left out where they
    /// would not explain the answer: in a challenge, in answers about the room or the pace of
    /// tickets, and if the server does not provide the client's address.
    pub(super) const fn tells_of_limits(&self) -> bool {
        !matches!(
            self.by,
            By::Prepared(_) | By::Pace | By::Status(_) | By::Room | By::SetUp | By::Transfer
        )
    }

    /// Returns the header line that describes a gate in the gate's own refusal. The line reports a
    /// remaining quota of 0 until `retry_after`.
    pub(super) fn own_line(&self) -> Option<(Arc<GateLine>, Decision)> {
        match &self.by {
            By::Gate(gate, _) => {
                let reset = self.retry_after.unwrap_or_default();
                Some((gate.line()?, Decision::new(0, 0, reset, self.retry_after)))
            }
            // The variants are listed one by one, so that the compiler requires a decision for each
            // new variant.
            By::Prepared(_)
            | By::Client
            | By::Key
            | By::Limits
            | By::Pace
            | By::Status(_)
            | By::Room
            | By::SetUp
            | By::Store
            | By::Transfer => None,
        }
    }

    /// Returns whether the connection should be closed after the answer. A connection is closed
    /// only if a gate refused the request or the client's address is unknown, and one of the
    /// following holds:
    ///
    /// - The gate is being drained, because the service is shutting down.
    /// - The refused request has a body that is large or of unknown length. A server has to read
    ///   the whole body before it can read the next request on the connection (RFC 9112 section
    ///   9.6).
    ///
    /// In both cases, an HTTP/2 connection stays open, because a stream can end without closing the
    /// connection.
    pub(super) fn closes(&self, head: RequestHead<'_>) -> bool {
        let is_large = |value: &HeaderValue| {
            value.to_str().is_ok_and(|len| len.parse::<u64>().is_ok_and(|len| len > LARGE))
        };
        // A request has few headers, so comparing all names once is cheaper than two hash lookups.
        let has_large_body = || {
            head.headers().keys().any(|name| {
                *name == TRANSFER_ENCODING
                    || *name == CONTENT_LENGTH && head.headers().get_all(name).iter().any(is_large)
            })
        };
        matches!(self.by, By::Client | By::Gate(..) | By::SetUp)
            && head.version() <= Version::HTTP_11
            && (self.reason == Reason::RefusedGateDrained || has_large_body())
    }

    /// Creates a refusal.
    fn refused(reason: Reason, retry_after: Option<Duration>, by: By) -> Self {
        Self { outcome: Outcome::Refuse, reason, retry_after, by }
    }
}

/// The answer to a crawler while visitors wait. Only crawlers get it, so it is in English.
const CRAWLER: &[u8] = b"Many people are here right now. Please come back later.\n";

/// The time after which a crawler is asked to come back. A crawler does not wait for a slot, so it
/// gains nothing from asking often.
const CRAWLER_RETRY: Duration = Duration::from_secs(2 * 60);

/// The answer to a request that may belong to several rooms (RFC 9457).
const AMBIGUOUS_ROUTE: &[u8] = br#"{"type":"about:blank","title":"Bad Request","status":400,
"detail":"Servers may interpret the path or the host of this request in different ways.",
"reason":"refused:ambiguous_route"}"#;

/// Returns the status of a gate's refusal, as documented at [`GateStatuses`].
fn gate_status(gate: &GateRef, because: RefusedBecause) -> StatusCode {
    match (gate.concurrency().statuses, because) {
        (_, RefusedBecause::Drained) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Limiter, RefusedBecause::TimedOut) => StatusCode::GATEWAY_TIMEOUT,
        (GateStatuses::Origin, RefusedBecause::TimedOut) => StatusCode::SERVICE_UNAVAILABLE,
        (GateStatuses::Origin, _) if !gate.is_by_key() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// The type of a stream of server-sent events (HTML Living Standard, section 9.2).
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// The header that tells nginx not to buffer a response.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The largest body, in bytes, that is worth reading to keep the connection open.
const LARGE: u64 = 64 * 1024;

/// The time after which a client may retry if a store could not handle its request in time.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(5);

/// The number of possible extra delays, in steps of 1 s, that spread the retries to an overloaded
/// node. An extra delay of 0 to 5 s is added to each retry.
const SPREAD_SECS: u64 = 6;
