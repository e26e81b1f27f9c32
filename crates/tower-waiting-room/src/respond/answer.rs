//! The content of an answer, before it is rendered for a client.
//!
//! The pipeline makes the decision and describes it as an [`Unforwarded`] request. If the answer is
//! not prepared, this module collects the facts about it in an [`Answer`]: the outcome and
//! its reason, the place and the wait from a ticket, and intervals from the rules of the room.
//! Every form contains the same facts, so this module computes them once, and each form only
//! formats them.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde::{Deserialize, Serialize};
use waiting_room_core::{
    Reason, RoomRules, Ticket, Timestamp,
    room::{QueueingMethod, RoomMode, WaitEstimate, event::RoomPlan},
};

use super::EventFacts;
use crate::{
    rate_headers::{PolicyState, Report, whole_seconds},
    request::{Client, ClientKind, Language, RequestHead},
};

/// A request that is not forwarded, with the decision and all facts that its answer may state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unforwarded<'a> {
    pub(crate) request: RequestHead<'a>,
    /// The decision.
    pub(crate) outcome: Outcome,
    /// The reason for the decision.
    pub(crate) reason: &'a Reason,
    /// The topic, which determines the status and the cost of the answer.
    pub(crate) about: About<'a>,
    /// The time until a retry can succeed, or `None` if no retry can succeed.
    pub(crate) retry_after: Option<Duration>,
    /// The policies of the limits, and of the gate that refused the request, for the headers.
    pub(crate) told: &'a [PolicyState<'a>],
    /// The new token for a client that does not store cookies.
    pub(crate) token: Option<&'a str>,
    /// Whether the client gets a new token in a cookie, which is added to the finished answer.
    pub(crate) gets_cookie: bool,
    /// The plan of the room, if the answer is about a room with events.
    pub(crate) plan: Option<&'a RoomPlan>,
    /// The time of the decision.
    pub(crate) now: Timestamp,
}

/// The topic of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About<'a> {
    /// A gate that has no permit for the request, with the status of the answer.
    Gate(StatusCode),
    /// Limits that the request exceeds.
    Limit,
    /// A pace limit on tickets, which the request exceeds.
    Pace,
    /// The room, with its rules and with the visitor's ticket if there is one.
    Room(&'a RoomRules, Option<&'a Ticket>),
    /// Any other topic, with the status of the answer.
    Service(StatusCode),
}

impl<'a> Unforwarded<'a> {
    /// Returns the report about limits, in the form of header values.
    pub(super) fn report(&self) -> Report<'a> {
        Report::new(self.told, self.retry_after.map(whole_seconds), self.now)
    }

    /// Returns the policies that the request exceeds.
    pub(super) fn violated(&self) -> impl Iterator<Item = &'a PolicyState<'a>> {
        self.told.iter().filter(|told| !told.decision.allowed)
    }
}

/// The facts of an answer that a client gets instead of the application's response.
///
/// Every form of answer (page, JSON, problem document, text, gRPC status) contains these facts. A
/// [`Page`](super::Page) that the application provides receives the facts and can present them in
/// any form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The name of the room.
    pub room: Arc<str>,
    /// The kind of client, which determines the form of the answer.
    pub kind: ClientKind,
    /// The language of the sentences in the answer.
    pub language: Language,
    /// The decision.
    pub outcome: Outcome,
    /// The reason for the decision.
    pub reason: Reason,
    /// The status of the response. A gRPC client gets status 200, with a gRPC status in the
    /// trailers.
    pub status: StatusCode,
    /// The place in line, starting at 1. `None` before the visitor has a place, and if places are
    /// drawn by lot.
    pub position: Option<u32>,
    /// The number of visitors ahead. `None` if places are drawn by lot. The number is an estimate
    /// before the visitor has a place.
    pub ahead: Option<u32>,
    /// The approximate number of visitors in a line whose order is drawn by lot. `None` in any other
    /// line, and once the visitor has a place.
    pub line: Option<u32>,
    /// Whether `position` and `ahead` are approximate.
    pub is_approximate: bool,
    /// The expected wait. `None` if it is unknown, or while no visitors are admitted.
    pub wait: Option<WaitEstimate>,
    /// The exact time until a retry can succeed, which gRPC clients get in milliseconds. `None` if no
    /// retry can succeed.
    pub(super) retry_after: Option<Duration>,
    /// The time of the visitor's first request. `None` if the answer is not about a place in line.
    pub waiting_since: Option<Timestamp>,
    /// The time of the visitor's last request that was not too early. `None` if the answer is not
    /// about a place in line.
    pub last_check_in: Option<Timestamp>,
    /// The time of the decision.
    pub now: Timestamp,
    /// The time for which a place is kept after the visitor's last check-in, or zero if the answer
    /// is not about the room.
    pub place_retention: Duration,
    /// The interval between check-ins of a visitor far back in the line, or zero if the answer is
    /// not about the room. Near the front of the line, the interval is shorter.
    pub refresh_interval: Duration,
    /// The order in which the room admits visitors.
    pub method: QueueingMethod,
    /// Whether the visitor has a place in the line rather than only a first ticket.
    pub is_placed: bool,
    /// Whether the operator has stopped admissions.
    pub is_queue_all: bool,
    /// Whether the script of the waiting page sent the request.
    pub is_poll: bool,
    /// Whether the request can safely be repeated, which is true for GET and HEAD.
    pub is_safe: bool,
    /// The path of the [push](crate::config::WaitingRoomConfigBuilder::push) streams. `None` if the
    /// visitor does not wait, or if the layer has no push.
    pub push: Option<Arc<str>>,
    /// The [path of transfers](crate::config::WaitingRoomConfigBuilder::transfer_path). `None` if
    /// the answer is not about the room, or if the layer has no such path.
    pub transfer: Option<Arc<str>>,
    /// Whether the request has an `Origin` header, so that a script of another origin may read the
    /// answer.
    pub(super) has_origin: bool,
    /// The objects in the JSON of answers about the room.
    pub(super) json: JsonProfile,
    /// The current event; `None` if there is none, or if the answer is not about the room.
    pub event: Option<Box<EventFacts>>,
    /// The new sealed pass or ticket for a client that sends tokens in a header instead of a
    /// cookie. This is the value of [`TOKEN_HEADER`](crate::token::TOKEN_HEADER) in the response,
    /// in the form `<room>=<token>`.
    pub token: Option<String>,
}

impl Answer {
    /// Creates an answer that contains only the decision. The `add_` methods add further facts.
    #[must_use]
    pub(crate) fn new(
        room: Arc<str>,
        client: &Client,
        language: Language,
        outcome: Outcome,
        reason: Reason,
        status: StatusCode,
        now: Timestamp,
    ) -> Self {
        Self {
            room,
            kind: client.kind,
            language,
            outcome,
            reason,
            status,
            position: None,
            ahead: None,
            line: None,
            is_approximate: false,
            wait: None,
            retry_after: None,
            waiting_since: None,
            last_check_in: None,
            now,
            place_retention: Duration::ZERO,
            refresh_interval: Duration::ZERO,
            method: QueueingMethod::Fifo,
            is_placed: false,
            is_queue_all: false,
            is_poll: client.is_poll,
            is_safe: client.is_safe,
            push: None,
            transfer: None,
            has_origin: client.has_origin,
            json: JsonProfile::default(),
            event: None,
            token: None,
        }
    }

    /// Adds the facts from the rules of the room.
    pub(crate) fn add_rules(&mut self, rules: &RoomRules) {
        self.place_retention = rules.place_retention;
        self.refresh_interval = rules.refresh_interval;
        self.method = rules.queueing_method;
        // Like a room in this mode, a prequeue admits no visitors, but it ends at a known time.
        let is_prequeue = self.reason != Reason::QueueAll
            && self.event.as_ref().is_some_and(|event| event.is_prequeue);
        self.is_queue_all = rules.mode == RoomMode::QueueAll && !is_prequeue;
        // An earlier ticket contains a wait that is no longer valid. `add_ticket` makes the same
        // check, so `add_rules` and `add_ticket` can be called in any order.
        self.wait = self.wait.filter(|_| !self.is_queue_all);
        self.remove_order();
    }

    /// Adds the facts about the event that is in progress at the time of the answer. `add_rules`
    /// has to be called afterwards.
    pub(crate) fn add_plan(&mut self, plan: &RoomPlan, ticket: Option<&Ticket>) {
        self.event = EventFacts::new(plan, ticket, self.now);
    }

    /// Adds the facts from a ticket: the place, the wait, and the time of the next check-in.
    pub(crate) fn add_ticket(&mut self, ticket: &Ticket) {
        // The position in a first ticket is not a place. The position is used only to compute the
        // number of visitors ahead of the newcomer.
        self.position = ticket.shown_position.filter(|_| ticket.placed);
        self.ahead = ticket.shown_position.map(|position| position.saturating_sub(1));
        self.is_approximate = ticket.is_approximate;
        self.wait = ticket.wait.filter(|_| !self.is_queue_all);
        self.retry_after = Some(ticket.retry_after(self.now));
        self.waiting_since = Some(ticket.first_seen);
        self.last_check_in = Some(ticket.last_check_in);
        self.is_placed = ticket.placed;
        self.remove_order();
    }

    /// If the order is drawn by lot, the estimate on a first ticket is only the length of the line.
    fn remove_order(&mut self) {
        if (self.method == QueueingMethod::Random || self.will_be_drawn())
            && let Some(ahead) = self.ahead.take()
        {
            self.line = Some(ahead).filter(|_| !self.is_placed);
            self.position = None;
        }
    }

    /// Returns the time until a retry can succeed, in whole seconds, as in the header `Retry-After`.
    /// The time is rounded up and at least one second, so a client that obeys it is never too early.
    /// Returns `None` if no retry can succeed.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_seconds().map(Duration::from_secs)
    }

    /// Returns the value of `Retry-After`.
    pub(super) fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(whole_seconds)
    }

    /// Returns whether the visitor was refused because all places in the line are taken.
    #[must_use]
    pub fn is_line_full(&self) -> bool {
        self.reason == Reason::RefusedLineFull
    }

    /// Returns whether the visitor waits for an event whose order will be drawn.
    pub(super) fn will_be_drawn(&self) -> bool {
        self.event.as_ref().is_some_and(|event| event.is_prequeue && event.is_shuffled)
    }

    /// Returns whether a program gets the answer as data, in a form that is neither a page nor plain text.
    pub(super) fn is_for_program(&self) -> bool {
        matches!(self.kind, ClientKind::Json | ClientKind::Problem)
    }

    /// Returns whether the answer contains sentences. The JSON answer to a waiting program has only
    /// numbers and times.
    pub(super) fn has_text(&self) -> bool {
        self.kind != ClientKind::Json || self.is_poll || self.outcome == Outcome::Refuse
    }

    /// Returns whether the answer is about the room, and not about a limit or a gate.
    pub(super) fn is_of_room(&self) -> bool {
        !self.is_of_limits() && !self.is_of_gate()
    }

    /// Returns whether the JSON of the answer contains the object of Cloudflare Waiting Room.
    ///
    /// Cloudflare's product sends the object neither to admitted visitors nor for
    /// refusals that do not concern its waiting room, such as refusals by a rate limit.
    pub(super) fn has_cloudflare_object(&self) -> bool {
        self.json == JsonProfile::Cloudflare && self.is_of_room() && self.outcome != Outcome::Admit
    }

    /// Returns whether a gate refused the request.
    pub(super) fn is_of_gate(&self) -> bool {
        matches!(
            self.reason,
            Reason::RefusedGateCancelled
                | Reason::RefusedGateDrained
                | Reason::RefusedGateFull
                | Reason::RefusedGateShed
                | Reason::RefusedGateTimeout
                | Reason::RefusedGateUnknown
        )
    }

    /// Returns whether the limits refused the request because it exceeds a limit, lacks the key of
    /// a limit, or could not be counted. The pace limits on tickets and the bounds of push count as
    /// limits here.
    fn is_of_limits(&self) -> bool {
        matches!(
            self.reason,
            Reason::RefusedAddressUnknown
                | Reason::RefusedKeyMissing(_)
                | Reason::RefusedLimitsBusy
                | Reason::RefusedLimitsUnavailable
                | Reason::RefusedNotAVisit
                | Reason::RefusedPushEnded
                | Reason::RefusedPushFull
                | Reason::RefusedPushInvalid
                | Reason::RefusedPushNetworkFull
                | Reason::RefusedRate(_)
                | Reason::RefusedTooOften
                | Reason::RefusedTransferInvalid
        )
    }
}

/// The decision about a request, as reported to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a visitor is admitted, refused or made to wait")]
pub enum Outcome {
    /// The visitor is admitted. Only the script of the waiting page gets this answer; any other
    /// request is forwarded.
    Admit,
    /// The request is refused.
    Refuse,
    /// The visitor waits in line.
    Wait,
}

impl Outcome {
    /// Returns the name of the outcome in the `waiting-room` header and in templates.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Refuse => "refuse",
            Self::Wait => "wait",
        }
    }
}

/// The objects that JSON answers about the room contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonProfile {
    /// The object `waitingRoom` and, in addition, the object `cfWaitingRoom` with the 25 fields of
    /// Cloudflare Waiting Room, for clients that were written for that product. An answer is then
    /// about 1 KiB long.
    Cloudflare,
    /// Only the object `waitingRoom`. An answer is about 300 bytes long. This is the default.
    #[default]
    Compact,
}

/// An expected wait with its range, in whole seconds.
///
/// Three quarters of the visitors in the same place wait longer than `p25`, half of them longer
/// than `p50`, and a quarter longer than `p75`.
#[derive(Serialize)]
pub(super) struct WaitSeconds {
    pub(super) p25: u64,
    pub(super) p50: u64,
    pub(super) p75: u64,
}

impl WaitSeconds {
    /// Converts an estimate to seconds. Estimates are in whole seconds, so the conversion loses no
    /// precision.
    pub(super) fn new(wait: WaitEstimate) -> Self {
        let WaitEstimate { p25, p50, p75, .. } = wait;
        let [p25, p50, p75] = [p25, p50, p75].map(|duration: Duration| duration.as_secs());
        Self { p25, p50, p75 }
    }
}

/// Rounds a duration up to whole minutes. The result is at least one.
pub(super) fn whole_minutes(duration: Duration) -> u64 {
    whole_seconds(duration).div_ceil(60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::respond::sample;

    #[test]
    fn a_rejected_visitor_gets_no_retry_time() {
        assert_eq!(sample::refusal(Reason::RefusedReject).retry_after_seconds(), None);
    }

    #[test]
    fn no_wait_is_shown_while_the_room_admits_no_visitor() {
        let placed = sample::placed();
        let paused = sample::paused();
        assert!(placed.wait.is_some() && paused.wait.is_none());
        let ticket = sample::ticket();
        assert_eq!(paused.with_ticket(&ticket).wait, None);
    }
}
