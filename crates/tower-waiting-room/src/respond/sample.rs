//! One answer of each kind, for checking a page template before it is used, and for tests.
//!
//! A template may fail in a branch that only a rare answer reaches. This module therefore has a
//! sample of each kind of answer, with and without each optional fact. If the page shows a
//! different text for a new reason, that reason must be added to [`answers`].

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, Method, StatusCode};
use waiting_room_core::{
    Reason, RoomRules, Ticket, Timestamp, VisitorId,
    room::{QueueingMethod, RoomMode, WaitEstimate},
};

use super::{Answer, EventFacts, Outcome};
use crate::request::{Client, ClientKind, Language};

/// Returns every kind of answer that a page may have to show.
pub(super) fn answers() -> impl Iterator<Item = Answer> {
    // The list contains at least one reason for each headline in `message.rs`.
    let refused = [
        Reason::RefusedAddressUnknown,
        Reason::RefusedDraining,
        Reason::RefusedGateFull,
        Reason::RefusedKeyMissing("key".into()),
        Reason::RefusedLimitsBusy,
        Reason::RefusedLimitsUnavailable,
        Reason::RefusedLineFull,
        Reason::RefusedNetworkFull,
        Reason::RefusedRate("per_ip".into()),
        Reason::RefusedReject,
        Reason::RefusedTooOften,
        Reason::StoreUnavailable,
    ];
    let waiting = [
        placed(),
        first(),
        newcomer(),
        alone(),
        shuffled(),
        lottery(),
        paused(),
        unsent(),
        prequeue(),
        drawn(),
    ];
    waiting.into_iter().chain(refused.map(refusal))
}

/// The answer to a visitor who is number 12 in line and has to wait for 4 to 7 minutes.
pub(super) fn placed() -> Answer {
    answer(Outcome::Wait, Reason::QueuedActiveLimit).with_rules(&rules()).with_ticket(&ticket())
}

/// The answer to a newcomer about whom nothing is known yet. It contains no place, no number of
/// visitors ahead, and no expected wait.
pub(super) fn first() -> Answer {
    let ticket = Ticket::new(VisitorId::new(1), NOW, NOW, NOW + Duration::from_secs(1));
    answer(Outcome::Wait, Reason::QueuedRate).with_rules(&rules()).with_ticket(&ticket)
}

/// The answer to a newcomer without a place yet, with about 12 visitors ahead of it.
pub(super) fn newcomer() -> Answer {
    let mut ticket = Ticket::new(VisitorId::new(1), NOW, NOW, NOW + Duration::from_secs(1));
    // By this estimate, the newcomer would be number 13.
    ticket.show(13, true);
    answer(Outcome::Wait, Reason::QueuedRate).with_rules(&rules()).with_ticket(&ticket)
}

/// The answer to a newcomer without a place yet, with no visitor ahead of it.
pub(super) fn alone() -> Answer {
    Answer { ahead: Some(0), ..newcomer() }
}

/// The answer to a newcomer of a line whose order is drawn by lot, with about 12 visitors in it.
pub(super) fn shuffled() -> Answer {
    newcomer().with_rules(&rules().queueing_method(QueueingMethod::Random))
}

/// The answer to a visitor in a line whose order is drawn by lot: the visitor has a place, but no
/// position is known.
pub(super) fn lottery() -> Answer {
    let mut ticket = ticket();
    ticket.shown_position = None;
    placed().with_rules(&rules().queueing_method(QueueingMethod::Random)).with_ticket(&ticket)
}

/// The answer to a visitor in the line while the operator has stopped admissions: it contains a
/// place, but no expected wait.
pub(super) fn paused() -> Answer {
    Answer { reason: Reason::QueueAll, ..placed() }.with_rules(&rules().mode(RoomMode::QueueAll))
}

/// The answer to a visitor that has number 42 in the draw of an event that starts in ten minutes.
pub(super) fn prequeue() -> Answer {
    let mut ticket = ticket();
    ticket.shown_position = None;
    ticket.wait = None;
    let event = EventFacts {
        name: "doors".into(),
        is_prequeue: true,
        starts_at: NOW + Duration::from_secs(600),
        ends_at: NOW + Duration::from_secs(4_200),
        starts_in: Duration::from_secs(600),
        ends_in: Duration::from_secs(4_200),
        is_shuffled: true,
        commitment: Some("3f".repeat(32)),
        number: Some(42),
        place: None,
        entrants: None,
        seed: None,
    };
    Answer { event: Some(Box::new(event)), ..answer(Outcome::Wait, Reason::Prequeue) }
        .with_rules(&rules().mode(RoomMode::QueueAll))
        .with_ticket(&ticket)
}

/// The answer to the same visitor when the event starts. Number 42 of 2 000 gets place 12.
pub(super) fn drawn() -> Answer {
    let event = EventFacts {
        is_prequeue: false,
        starts_at: NOW,
        ends_at: NOW + Duration::from_secs(3_600),
        starts_in: Duration::ZERO,
        ends_in: Duration::from_secs(3_600),
        place: Some(12),
        entrants: Some(2_000),
        seed: Some("07".repeat(32)),
        ..*prequeue().event.unwrap_or_else(|| unreachable!("a prequeue has an event"))
    };
    Answer { event: Some(Box::new(event)), ..placed() }
}

/// The answer to a visitor in the line whose form did not reach the application.
pub(super) fn unsent() -> Answer {
    Answer { is_safe: false, ..placed() }
}

/// A refusal with this reason. It asks for a retry in 2 minutes, unless no retry can succeed.
pub(super) fn refusal(reason: Reason) -> Answer {
    // After a refusal with one of these reasons, no retry can succeed, because the request or the
    // server has to be corrected, or the room has no line.
    let is_final = matches!(
        reason,
        Reason::RefusedAddressUnknown | Reason::RefusedKeyMissing(_) | Reason::RefusedReject
    );
    let retry_after = (!is_final).then_some(Duration::from_secs(120));
    answer(Outcome::Refuse, reason).with_rules(&rules()).with_retry_after(retry_after)
}

/// An answer to a navigation. It contains only the decision.
fn answer(outcome: Outcome, reason: Reason) -> Answer {
    let client = Client {
        kind: ClientKind::Navigation,
        ..Client::classify(&Method::GET, &HeaderMap::new())
    };
    let status = StatusCode::SERVICE_UNAVAILABLE;
    Answer::new(Arc::from("shop"), &client, Language::ENGLISH, outcome, reason, status, NOW)
}

impl Answer {
    /// Adds the facts from the rules of a room.
    pub(super) fn with_rules(mut self, rules: &RoomRules) -> Self {
        self.add_rules(rules);
        self
    }

    /// Adds the facts from a ticket.
    pub(super) fn with_ticket(mut self, ticket: &Ticket) -> Self {
        self.add_ticket(ticket);
        self
    }

    /// Replaces the time until a retry.
    fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }
}

/// Room rules with the default intervals. The limit does not appear in any answer.
fn rules() -> RoomRules {
    RoomRules::new("shop", 1)
}

/// The ticket of visitor number 12, who has waited for 150 s and is due to check in again in 8.2 s.
/// The fraction of a second shows whether a form rounds up.
pub(super) fn ticket() -> Ticket {
    let since = NOW.before(Duration::from_secs(150));
    let mut ticket = Ticket::new(VisitorId::new(1), since, NOW, NOW + Duration::from_millis(8_200));
    let [p25, p50, p75] = [250, 330, 400].map(Duration::from_secs);
    ticket.wait = Some(WaitEstimate::new(p25, p50, p75));
    ticket.shown_position = Some(12);
    ticket.placed = true;
    ticket
}

/// The time of every sample: 2026-11-21T08:00:00Z.
pub(super) const NOW: Timestamp = Timestamp::from_secs(1_795_248_000);
