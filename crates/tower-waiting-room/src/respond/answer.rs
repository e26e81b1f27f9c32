//! What there is to say to a client that is not let through, before it has a form.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use jiff::fmt::{StdIoWrite, temporal::DateTimePrinter};
use serde::{Serialize, Serializer};
use waiting_room_core::{
    QueueingMethod, Reason, RoomMode, RoomRules, Ticket, Timestamp, WaitEstimate,
};

use crate::{
    rate_headers::whole_seconds,
    request::{Client, ClientKind, Language},
};

/// What the layer says to a client instead of letting its request through.
///
/// Every form of answer (page, JSON, problem document, text, gRPC status) says the same facts;
/// these are they. A [`Page`](super::Page) of the user's own gets them to say them differently.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The room's name.
    pub room: Arc<str>,
    /// The form in which the client is answered.
    pub kind: ClientKind,
    /// The language in which the client is answered.
    pub language: Language,
    /// What was decided.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// The status of the response; a gRPC client gets 200 and the status in its trailers.
    pub status: StatusCode,
    /// The place in line, counted from 1; `None` if there is none yet, or chance decides.
    pub position: Option<u32>,
    /// How many visitors are ahead; `None` if chance decides. Before there is a place it is
    /// estimated.
    pub ahead: Option<u32>,
    /// Whether the position, and how many are ahead, are approximate.
    pub is_approximate: bool,
    /// How long it is expected to take; `None` if that cannot be said.
    pub wait: Option<WaitEstimate>,
    /// When to ask again; `None` if there is no point in it.
    pub retry_after: Option<Duration>,
    /// When the visitor first asked.
    pub waiting_since: Option<Timestamp>,
    /// When the visitor last asked in time, so that it counted.
    pub last_check_in: Option<Timestamp>,
    /// When this was decided.
    pub now: Timestamp,
    /// How long the place is kept for a visitor who does not ask again.
    pub place_retention: Duration,
    /// How often a visitor far back in the line is asked to come back.
    pub refresh_interval: Duration,
    /// Who is let in next.
    pub method: QueueingMethod,
    /// Whether the visitor has a place in line, and not just a first ticket.
    pub is_placed: bool,
    /// Whether nobody is let in at the moment, by the operator's decision.
    pub is_queue_all: bool,
    /// Whether the waiting page's script asks, and not a program of somebody's own.
    pub is_poll: bool,
    /// Whether the request could be repeated without harm: GET and HEAD.
    pub is_safe: bool,
    /// The sealed pass or ticket behind the name of its room, for a client that sends it in a header
    /// instead of a cookie: the line that the response has in [`TOKEN_HEADER`](crate::TOKEN_HEADER).
    pub token: Option<String>,
}

impl Answer {
    /// An answer with nothing but the decision in it, to be told when to come back, and more.
    #[must_use]
    pub(crate) fn new(
        room: Arc<str>,
        client: &Client,
        outcome: Outcome,
        reason: Reason,
        status: StatusCode,
        now: Timestamp,
    ) -> Self {
        Self {
            room,
            kind: client.kind,
            language: client.language,
            outcome,
            reason,
            status,
            position: None,
            ahead: None,
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
            token: None,
        }
    }

    /// With what the room's rules say.
    #[must_use]
    pub(crate) fn with_rules(mut self, rules: &RoomRules) -> Self {
        self.place_retention = rules.place_retention();
        self.refresh_interval = rules.refresh_interval();
        self.method = rules.queueing_method();
        self.is_queue_all = rules.mode() == RoomMode::QueueAll;
        self.wait = self.wait.filter(|_| !self.is_queue_all);
        self
    }

    /// With what the ticket says: the place, the wait, and when to come back.
    #[must_use]
    pub(crate) fn with_ticket(mut self, ticket: &Ticket) -> Self {
        self.position = ticket.shown_position.filter(|_| ticket.placed);
        self.ahead = ticket.shown_position.map(|position| position.saturating_sub(1));
        self.is_approximate = ticket.is_approximate;
        self.wait = ticket.wait.filter(|_| !self.is_queue_all);
        self.retry_after = Some(ticket.retry_after(self.now));
        self.waiting_since = Some(ticket.first_seen);
        self.last_check_in = Some(ticket.last_check_in);
        self.is_placed = ticket.placed;
        self
    }

    /// With the time to stay away, instead of the ticket's; `None` if coming back is pointless.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// The value of `Retry-After` in whole seconds: at least 1, and rounded up, so that a client
    /// that obeys it is never early.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(whole_seconds)
    }

    /// Whether the line has no place left.
    #[must_use]
    pub fn is_line_full(&self) -> bool {
        self.reason == Reason::RefusedLineFull
    }

    /// Whether the answer is about a place in line, and not about a single request.
    pub(super) fn is_of_room(&self) -> bool {
        !self.is_of_limits() && !self.is_of_gate()
    }

    /// Whether a gate has no permit for it.
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

    /// Whether a limit or a pace has refused it, or a limit needs to know more of it.
    fn is_of_limits(&self) -> bool {
        matches!(
            self.reason,
            Reason::RefusedAddressUnknown
                | Reason::RefusedKeyMissing(_)
                | Reason::RefusedLimitsBusy
                | Reason::RefusedLimitsUnavailable
                | Reason::RefusedRate(_)
                | Reason::RefusedTooOften
        )
    }

    /// Whether what a visitor sent with this navigation is lost unless the page says so.
    pub(super) fn is_unsent(&self) -> bool {
        self.kind == ClientKind::Navigation && !self.is_safe
    }
}

/// What was decided about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a visitor gets in, goes or waits: there is no fourth")]
pub enum Outcome {
    /// Let in. Said to the waiting page's script only; everybody else gets what they asked for.
    Admit,
    /// Sent away.
    Refuse,
    /// In line.
    Wait,
}

impl Outcome {
    /// The name in the `waiting-room` header and in templates.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Refuse => "refuse",
            Self::Wait => "wait",
        }
    }
}

/// A point in time as ISO 8601 has it: `2026-11-21T08:00:00.000Z`.
pub(super) struct Iso(pub(super) Timestamp);

impl Iso {
    pub(super) const LEN: usize = "2026-11-21T08:00:00.000Z".len();

    /// The text, in `buffer`. The years of a [`Timestamp`] have four digits.
    pub(super) fn format<'a>(&self, buffer: &'a mut [u8; Self::LEN]) -> &'a str {
        let nanos = i128::from(self.0.as_nanos());
        let time = jiff::Timestamp::from_nanosecond(nanos).unwrap_or(jiff::Timestamp::MAX);
        let mut rest = &mut buffer[..];
        let printer = DateTimePrinter::new().precision(Some(3));
        let is_written = printer.print_timestamp(&time, StdIoWrite(&mut rest)).is_ok();
        let text = std::str::from_utf8(buffer).ok().filter(|_| is_written);
        text.unwrap_or("1970-01-01T00:00:00.000Z")
    }
}

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.format(&mut [0; Self::LEN]))
    }
}

/// A wait and its range, in whole seconds.
#[derive(Serialize)]
pub(super) struct WaitSeconds {
    p25: u64,
    p50: u64,
    p75: u64,
}

impl WaitSeconds {
    pub(super) fn new(wait: WaitEstimate) -> Self {
        let WaitEstimate { p25, p50, p75, .. } = wait;
        let [p25, p50, p75] = [p25, p50, p75].map(|it: Duration| it.as_secs());
        Self { p25, p50, p75 }
    }
}

/// Whole minutes, rounded up, and at least one.
pub(super) fn whole_minutes(duration: Duration) -> u64 {
    whole_seconds(duration).div_ceil(60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::respond::sample;

    #[test]
    fn a_visitor_who_is_rejected_is_told_no_time_to_come_back() {
        assert_eq!(sample::refusal(Reason::RefusedReject).retry_after_seconds(), None);
    }

    #[test]
    fn while_nobody_is_let_in_no_wait_is_told_in_whatever_order_it_is_learned() {
        let (placed, paused) = (sample::placed(), sample::paused());
        assert!(placed.wait.is_some() && paused.wait.is_none());
        let ticket = sample::ticket();
        assert_eq!(paused.with_ticket(&ticket).wait, None);
    }

    #[test]
    fn every_point_in_time_has_a_text() {
        let text = |time| Iso(time).format(&mut [0; Iso::LEN]).to_owned();
        assert_eq!(text(Timestamp::from_millis(1_500)), "1970-01-01T00:00:01.500Z");
        assert_eq!(text(Timestamp::MAX), "2554-07-21T23:34:33.709Z");
    }
}
