//! The figures of a room, for metrics, status pages and the operator.

use std::time::Duration;

#[cfg(feature = "serde")]
use crate::time::as_seconds;
use crate::{
    RoomRules, Timestamp,
    room::{
        RoomMode,
        event::{Commitment, Phase},
    },
};

/// The figures of a room, all taken at the same instant.
///
/// With the `serde` feature, a snapshot serializes to a map of its fields. Times are numbers of
/// seconds: `at` is serialized as `at_unix_seconds`, and `oldest_wait` as `oldest_wait_seconds`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RoomSnapshot {
    /// The time of the snapshot, on the store's clock.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "at_unix_seconds", serialize_with = "as_seconds::of_time")
    )]
    pub at: Timestamp,
    /// The number of slots in use, one for each visitor whose session has not ended.
    pub active: u32,
    /// The limit on slots. After the limit has been lowered, the number of slots in use may exceed
    /// it for a while.
    pub total_active_users: u32,
    /// The number of visitors admitted within the last 60 seconds.
    pub new_in_last_minute: u32,
    /// The limit on visitors admitted within any 60 seconds; `None` if there is no such limit.
    pub new_users_per_minute: Option<u32>,
    /// The number of first tickets issued within the last 50 to 60 seconds. A client has no place
    /// until it returns its first ticket, and some clients never return it.
    pub first_touches_in_last_minute: u32,
    /// The number of places in the line, including the places of visitors who are away. Lapsed
    /// places count until they are removed. If more places lapse at once than one operation
    /// removes, the number stays too high until later operations have removed them. It is never too
    /// low.
    pub waiting: u32,
    /// The number of visitors in the line who check in when they are due.
    pub present: u32,
    /// The largest number of slots that one narrow [network](crate::room::Network) holds, or 0 if the
    /// store does not know it.
    pub slots_of_one_network: u32,
    /// The largest number of places that one narrow network holds, or 0 if the store does not know
    /// it.
    pub places_of_one_network: u32,
    /// The maximum number of places in the line.
    pub line_capacity: u32,
    /// The time since the first touch of the visitor at the front of the line, plus its head start;
    /// zero if the line is empty. After a draw, a store may not know who is at the front until all
    /// entrants have checked in.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "oldest_wait_seconds", serialize_with = "as_seconds::of_duration")
    )]
    pub oldest_wait: Duration,
    /// The number of places that were given up since the room was opened: places that lapsed
    /// because their visitors did not come back, and places of visitors who left. A place that has
    /// lapsed is counted when it is removed, as described at [`waiting`](Self::waiting).
    pub abandoned: u64,
    /// The number of admissions per minute, measured over the last three minutes. Until admissions
    /// have been counted for 30 seconds, the rate is derived from the limits.
    pub admissions_per_minute: f64,
    /// The mode that the operator has set. During a prequeue, it is [`RoomMode::QueueAll`].
    pub mode: RoomMode,
    /// The current or next event; `None` if no event is scheduled.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub event: Option<EventFigures>,
}

/// The figures of the current or next event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EventFigures {
    /// The name of the event.
    pub name: String,
    /// Whether visitors wait for the start.
    pub is_prequeue: bool,
    /// The time until the start; zero once the event has started.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "starts_in_seconds", serialize_with = "as_seconds::of_duration")
    )]
    pub starts_in: Duration,
    /// The time until the end.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "ends_in_seconds", serialize_with = "as_seconds::of_duration")
    )]
    pub ends_in: Duration,
    /// Whether the prequeue is ordered by a draw at the start.
    pub is_shuffled: bool,
    /// The number of entrants of the draw so far.
    pub entrants: u32,
}

impl EventFigures {
    /// Returns the figures of a phase's event at `now`, or `None` if no event is to come.
    ///
    /// `entrants` returns the number of entrants so far in the draw with a given commitment.
    #[must_use]
    pub fn of(
        phase: Phase<'_>,
        now: Timestamp,
        entrants: impl FnOnce(Commitment) -> u32,
    ) -> Option<Self> {
        let (Phase::Active { event, .. }
        | Phase::Before { event, .. }
        | Phase::Prequeue { event, .. }) = phase
        else {
            return None;
        };
        Some(Self {
            name: event.name.as_str().into(),
            is_prequeue: matches!(phase, Phase::Prequeue { .. }),
            starts_in: event.start.since(now),
            ends_in: event.end.since(now),
            is_shuffled: event.shuffle_at_start.is_some(),
            entrants: event.shuffle_at_start.map_or(0, entrants),
        })
    }
}

/// A node that shares the store of a room with other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoomNode {
    /// The name of the node, which is random and lasts as long as the node.
    pub name: String,
    /// The time at which the store last heard from the node, on the store's clock.
    pub last_heard: Timestamp,
    /// Whether this is the node that has returned the list.
    pub is_this_node: bool,
}

impl RoomNode {
    /// The time within which the store hears from a running node: three reports of
    /// `waiting-room-redis`. A node that was last heard from earlier has stopped, or cannot reach
    /// the store.
    pub const HEARD_WITHIN: Duration = Duration::from_secs(15);

    /// Creates a node with this name, which was last heard from at this time.
    #[must_use]
    pub const fn new(name: String, last_heard: Timestamp) -> Self {
        Self { name, last_heard, is_this_node: false }
    }

    /// Marks this node as the node that has returned the list.
    #[must_use]
    pub fn as_this_node(self) -> Self {
        Self { is_this_node: true, ..self }
    }

    /// Returns whether the store has heard from the node within [`HEARD_WITHIN`](Self::HEARD_WITHIN)
    /// before `now`.
    #[must_use]
    pub fn is_heard(&self, now: Timestamp) -> bool {
        now.since(self.last_heard) <= Self::HEARD_WITHIN
    }
}

impl RoomSnapshot {
    /// Returns the figures of a room without visitors, under the given rules.
    #[must_use]
    pub fn empty(at: Timestamp, rules: &RoomRules) -> Self {
        let total_active_users = rules.total_active_users;
        let new_users_per_minute = rules.new_users_per_minute;
        Self {
            at,
            active: 0,
            total_active_users,
            new_in_last_minute: 0,
            new_users_per_minute,
            first_touches_in_last_minute: 0,
            waiting: 0,
            present: 0,
            slots_of_one_network: 0,
            places_of_one_network: 0,
            line_capacity: rules.line_capacity,
            oldest_wait: Duration::ZERO,
            abandoned: 0,
            admissions_per_minute: 0.0,
            mode: rules.mode,
            event: None,
        }
    }
}
