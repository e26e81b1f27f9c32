//! The figures of a room, for metrics, status pages and the operator.

use std::time::Duration;

#[cfg(feature = "serde")]
use crate::time::as_seconds;
use crate::{RoomRules, Timestamp, room::RoomMode};

/// The figures of a room, all taken at the same instant.
///
/// With the `serde` feature, a snapshot serializes to a map of its fields. Times are numbers of
/// seconds: `at` is the field `at_unix_seconds`, and `oldest_wait` is `oldest_wait_seconds`.
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
    /// The maximum number of places in the line.
    pub line_capacity: u32,
    /// The time since the earliest first touch among the visitors in line; zero if the line is
    /// empty.
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
    /// The mode that the operator has set.
    pub mode: RoomMode,
}

impl RoomSnapshot {
    /// Returns the figures of a room without visitors, under the given rules.
    #[must_use]
    pub fn empty(at: Timestamp, rules: &RoomRules) -> Self {
        let total_active_users = rules.total_active_users();
        let new_users_per_minute = rules.new_users_per_minute();
        Self {
            at,
            active: 0,
            total_active_users,
            new_in_last_minute: 0,
            new_users_per_minute,
            first_touches_in_last_minute: 0,
            waiting: 0,
            present: 0,
            line_capacity: rules.line_capacity(),
            oldest_wait: Duration::ZERO,
            abandoned: 0,
            admissions_per_minute: 0.0,
            mode: rules.mode(),
        }
    }
}
