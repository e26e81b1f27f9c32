//! The events of push: the JSON answer about the room, as the data of a server-sent event.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use waiting_room_core::{Reason, RoomRules, Ticket, Timestamp, room::event::RoomPlan};

use super::{Answer, Outcome, json, responder::Responder};
use crate::request::{Client, ClientKind, Language};

/// The facts that an event tells a visitor.
pub(crate) struct StreamFacts<'a> {
    pub(crate) rules: &'a RoomRules,
    /// The plan of the room, if the room has events.
    pub(crate) plan: Option<&'a RoomPlan>,
    pub(crate) ticket: &'a Ticket,
    pub(crate) reason: &'a Reason,
    pub(crate) now: Timestamp,
}

impl Responder {
    /// Returns the language of the sentences in events for a client with these headers.
    pub(crate) fn language(&self, headers: &HeaderMap) -> Language {
        self.page.languages().of(headers)
    }

    /// Renders an event. Its data is the same as in the JSON answer to a poll, with sentences if
    /// there is a `language`.
    ///
    /// The name is one of this crate's own, and the data is a single line, because JSON escapes
    /// line breaks. The event has no id: a client that connects again gets the current position,
    /// and its `Last-Event-ID` is never read.
    pub(crate) fn event(
        &self,
        name: &str,
        language: Option<Language>,
        told: &StreamFacts<'_>,
    ) -> Bytes {
        let StreamFacts { rules, plan, ticket, reason, now } = told;
        let client = Client {
            kind: ClientKind::Json,
            has_origin: false,
            is_head: false,
            is_poll: language.is_some(),
            is_safe: true,
        };
        let room = Arc::clone(&self.room);
        let language = language.unwrap_or_default();
        let outcome = Outcome::Wait;
        let status = StatusCode::OK;
        let reason = (*reason).clone();
        let mut answer = Answer::new(room, &client, language, outcome, reason, status, *now);
        if let Some(plan) = plan {
            answer.add_plan(plan, Some(ticket));
        }
        answer.add_rules(rules);
        answer.add_ticket(ticket);
        answer.json = self.json;
        // A failure is not expected. A comment in place of the event does no harm.
        let Ok(data) = json::body(&answer) else { return Bytes::from_static(b":\n\n") };
        [b"event: ", name.as_bytes(), b"\ndata: ", &data, b"\n\n"].concat().into()
    }
}
