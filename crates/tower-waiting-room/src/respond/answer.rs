//! The content of an answer, before it is rendered for a client.
//!
//! The pipeline makes the decision, and this module collects the facts about it: the outcome and
//! its reason, the place and the wait from a ticket, and intervals from the rules of the room.
//! Every form contains the same facts, so this module computes them once, and each form only
//! formats them.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde::{Deserialize, Serialize, Serializer};
use waiting_room_core::{
    Reason, RoomRules, Ticket, Timestamp,
    room::{QueueingMethod, RoomMode, WaitEstimate},
};

use crate::{
    rate_headers::whole_seconds,
    request::{Client, ClientKind, Language},
};

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
    /// Whether `position` and `ahead` are approximate.
    pub is_approximate: bool,
    /// The expected wait. `None` if it is unknown, or while no visitors are admitted.
    pub wait: Option<WaitEstimate>,
    /// The time until a retry can succeed. `None` if no retry can succeed.
    pub retry_after: Option<Duration>,
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
    /// Whether the request has an `Origin` header, so that a script of another origin may read the
    /// answer.
    pub(super) has_origin: bool,
    /// The objects in the JSON of answers about the room.
    pub(super) json: JsonProfile,
    /// The new sealed pass or ticket for a client that sends tokens in a header instead of a
    /// cookie. This is the value of [`TOKEN_HEADER`](crate::token::TOKEN_HEADER) in the response,
    /// in the form `<room>=<token>`.
    pub token: Option<String>,
}

impl Answer {
    /// Creates an answer that contains only the decision. The `with_` methods add further facts.
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
            has_origin: client.has_origin,
            json: JsonProfile::default(),
            token: None,
        }
    }

    /// Adds the facts from the rules of the room.
    #[must_use]
    pub(crate) fn with_rules(mut self, rules: &RoomRules) -> Self {
        self.place_retention = rules.place_retention();
        self.refresh_interval = rules.refresh_interval();
        self.method = rules.queueing_method();
        self.is_queue_all = rules.mode() == RoomMode::QueueAll;
        // An earlier ticket contains a wait that is no longer valid. `with_ticket` makes the same
        // check, so `with_rules` and `with_ticket` can be called in any order.
        self.wait = self.wait.filter(|_| !self.is_queue_all);
        self
    }

    /// Adds the facts from a ticket: the place, the wait, and the time of the next check-in.
    #[must_use]
    pub(crate) fn with_ticket(mut self, ticket: &Ticket) -> Self {
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
        self
    }

    /// Replaces the time until a retry, which a ticket may have set. `None` means that no retry can
    /// succeed.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// Returns the value of `Retry-After` in whole seconds. The value is rounded up and at least 1,
    /// so a client that obeys the header is never too early.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(whole_seconds)
    }

    /// Returns whether the visitor was refused because all places in the line are taken.
    #[must_use]
    pub fn is_line_full(&self) -> bool {
        self.reason == Reason::RefusedLineFull
    }

    /// Returns whether a program gets the answer as data, in a form that is neither a page nor plain text.
    pub(super) fn is_for_program(&self) -> bool {
        matches!(self.kind, ClientKind::Json | ClientKind::Problem)
    }

    /// Returns whether the answer contains sentences. The JSON answer of a waiting program has
    /// numbers and times only.
    pub(super) fn has_text(&self) -> bool {
        self.kind != ClientKind::Json || self.is_poll || self.outcome == Outcome::Refuse
    }

    /// Returns whether the answer is about the room, and not about a limit or a gate.
    pub(super) fn is_of_room(&self) -> bool {
        !self.is_of_limits() && !self.is_of_gate()
    }

    /// Returns whether the JSON of the answer contains the object of Cloudflare Waiting Room.
    ///
    /// Cloudflare's product does not send the object to visitors that are admitted, nor for
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
                | Reason::RefusedPushEnded
                | Reason::RefusedPushFull
                | Reason::RefusedPushInvalid
                | Reason::RefusedPushNetworkFull
                | Reason::RefusedRate(_)
                | Reason::RefusedTooOften
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

/// A point in time in ISO 8601 format, in UTC and with milliseconds, such as
/// `2026-11-21T08:00:00.000Z`.
pub(crate) struct Iso(pub(crate) Timestamp);

impl Iso {
    /// The length of a formatted point in time, in bytes.
    pub(crate) const LEN: usize = "2026-11-21T08:00:00.000Z".len();

    /// Formats the point in time into `buffer` and returns it as text.
    pub(crate) fn format<'a>(&self, buffer: &'a mut [u8; Self::LEN]) -> &'a str {
        *buffer = self.bytes();
        std::str::from_utf8(buffer).unwrap_or("1970-01-01T00:00:00.000Z")
    }

    /// Formats the point in time. Every [`Timestamp`] fits, because the latest one is in the year
    /// 2554, so the year always has four digits.
    pub(super) fn bytes(&self) -> [u8; Self::LEN] {
        // The days and the seconds of a day fit in 32 bits, in which divisions cost less.
        let [days, seconds] = [self.0.as_secs() / 86_400, self.0.as_secs() % 86_400].map(low_bits);
        let [year, month, day] = date(days);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        write_two(&mut text, 0, year / 100);
        write_two(&mut text, 2, year % 100);
        write_two(&mut text, 5, month);
        write_two(&mut text, 8, day);
        write_two(&mut text, 11, seconds / 3_600);
        write_two(&mut text, 14, seconds / 60 % 60);
        write_two(&mut text, 17, seconds % 60);
        let millis = low_bits(self.0.as_nanos() / 1_000_000 % 1_000);
        write_two(&mut text, 20, millis / 10);
        text[22] = digit(millis % 10);
        text
    }
}

/// Returns the year, the month and the day of the month, for a number of days since 1970-01-01.
///
/// This is the algorithm `civil_from_days` by Howard Hinnant. Its years begin in March, so that the
/// leap day is the last day of a year.
fn date(days: u32) -> [u32; 3] {
    // 719 468 days lie between 0000-03-01 and 1970-01-01, and 146 097 days are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Of five months from March on, three have 31 days, which are 153 days in all.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [400 * era + year + u32::from(month <= 2), month, day]
}

/// Returns a number that fits in 32 bits.
const fn low_bits(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Writes a number below 100 as two digits.
fn write_two(text: &mut [u8; Iso::LEN], at: usize, number: u32) {
    text[at] = digit(number / 10);
    text[at + 1] = digit(number % 10);
}

/// Returns a number below 10 as a digit.
const fn digit(number: u32) -> u8 {
    b'0' + number.to_le_bytes()[0]
}

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.format(&mut [0; Self::LEN]))
    }
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
        let [p25, p50, p75] = [p25, p50, p75].map(|it: Duration| it.as_secs());
        Self { p25, p50, p75 }
    }
}

/// Rounds a duration up to whole minutes. The result is at least one.
pub(super) fn whole_minutes(duration: Duration) -> u64 {
    whole_seconds(duration).div_ceil(60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    /// Compares the text of a point in time with that of a library.
    fn compare(nanos: u64) {
        let time = jiff::Timestamp::from_nanosecond(nanos.into()).unwrap();
        let expected = format!("{time:.3}");
        assert_eq!(Iso(Timestamp::from_nanos(nanos)).format(&mut [0; Iso::LEN]), expected);
    }

    #[test]
    fn every_day_has_the_text_of_the_library() {
        const DAY: u64 = 86_400 * 1_000_000_000;
        for day in 0..=u64::MAX / DAY {
            compare(day * DAY);
            compare((day * DAY).saturating_add(DAY - 1));
        }
    }

    proptest! {
        #[test]
        fn every_point_in_time_has_the_text_of_the_library(nanos in any::<u64>()) {
            compare(nanos);
        }
    }
}
