//! A request that the layer answers itself, with the decision and all facts that the answer may
//! state. The pipeline creates this value, and the responder renders it.

use std::time::Duration;

use http::StatusCode;
use waiting_room_core::{Reason, RoomRules, Ticket, Timestamp, room::event::RoomPlan};

use super::Outcome;
use crate::{
    rate_headers::{PolicyState, Report, whole_seconds},
    request::RequestHead,
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
    /// What is planned for the room, if the answer is about a room with events.
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
    /// The pace at which a ticket may be shown, which the request exceeds.
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
