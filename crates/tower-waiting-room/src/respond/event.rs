//! The event that a visitor waits for or takes part in, as answers describe it.

use std::time::Duration;

use serde::{Serialize, Serializer};
use waiting_room_core::{
    Ticket, Timestamp,
    room::event::{Event, Phase, RoomPlan},
};

use super::iso::Iso;
use crate::rate_headers::whole_seconds;

/// The facts about an event, from the beginning of its prequeue to its end.
///
/// Before the start, an event with a draw publishes its [`commitment`](Self::commitment). Once the
/// event has started, it also publishes the [`seed`](Self::seed) and the number of
/// [`entrants`](Self::entrants), from which any visitor can recompute its place.
///
/// In JSON, and in the variable `event` of a template, the fields have the same names in
/// `camelCase`. Times are in ISO 8601 (`startsAt`, `endsAt`), durations in whole seconds
/// (`startsInSeconds`, `endsInSeconds`), and fields that do not apply are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EventFacts {
    /// The name of the event.
    pub name: String,
    /// Whether the event has not started yet, so that no visitor is admitted.
    pub is_prequeue: bool,
    /// The start of the event.
    #[serde(serialize_with = "iso")]
    pub starts_at: Timestamp,
    /// The end of the event.
    #[serde(serialize_with = "iso")]
    pub ends_at: Timestamp,
    /// The time until the start; zero once the event has started.
    #[serde(rename = "startsInSeconds", serialize_with = "seconds")]
    pub starts_in: Duration,
    /// The time until the end.
    #[serde(rename = "endsInSeconds", serialize_with = "seconds")]
    pub ends_in: Duration,
    /// Whether the visitors in the prequeue are ordered by a draw at the start.
    pub is_shuffled: bool,
    /// The commitment to the seed of the draw, as 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
    /// The visitor's number in the draw, if it takes part in the draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The visitor's place in the drawn order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u32>,
    /// The number of visitors that took part in the draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrants: Option<u32>,
    /// The seed of the draw, as 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

impl EventFacts {
    /// Returns the facts about the event at `now`, or `None` if no event is in progress.
    pub(super) fn new(
        plan: &RoomPlan,
        ticket: Option<&Ticket>,
        now: Timestamp,
    ) -> Option<Box<Self>> {
        let (event, is_prequeue) = match plan.phase_at(now) {
            Phase::Active { event, .. } => (event, false),
            Phase::Prequeue { event, .. } => (event, true),
            Phase::Before { .. } | Phase::Over => return None,
        };
        let commitment = event.shuffle_at_start;
        let is_of = |draw| commitment.is_some_and(|commitment| draw == commitment.tag());
        let entrant =
            ticket.and_then(|ticket| ticket.entrant).filter(|entrant| is_of(entrant.draw));
        let (entrants, seed) = revealed(plan, event).unzip();
        Some(Box::new(Self {
            name: event.name.clone(),
            is_prequeue,
            starts_at: event.start,
            ends_at: event.end,
            starts_in: event.start.since(now),
            ends_in: event.end.since(now),
            is_shuffled: commitment.is_some(),
            commitment: commitment.map(|commitment| commitment.to_string()),
            number: entrant.map(|entrant| entrant.number),
            place: entrant.and_then(|entrant| entrant.place),
            entrants,
            seed,
        }))
    }
}

/// Returns the number of entrants and the seed, if the draw of this event has taken place.
#[cfg(feature = "room")]
fn revealed(plan: &RoomPlan, event: &Event) -> Option<(u32, String)> {
    let reveal = plan.reveal.as_ref().filter(|reveal| reveal.event() == event.name)?;
    let is_same = event.shuffle_at_start == Some(reveal.commitment());
    is_same.then(|| (reveal.entrants(), reveal.seed()))
}

#[cfg(not(feature = "room"))]
fn revealed(_plan: &RoomPlan, _event: &Event) -> Option<(u32, String)> {
    None
}

fn iso<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    Iso(*time).serialize(serializer)
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(if time.is_zero() { 0 } else { whole_seconds(*time) })
}
