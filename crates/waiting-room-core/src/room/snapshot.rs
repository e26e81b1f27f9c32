//! A room in numbers, for the operator.

use std::time::Duration;

use crate::{RoomMode, RoomRules, Timestamp};

/// A room in numbers, all of one instant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoomSnapshot {
    /// The instant.
    pub at: Timestamp,
    /// Slots taken.
    pub active: u32,
    /// Slots there are.
    pub total_active_users: u32,
    /// Visitors let in within the last 60 seconds.
    pub new_in_last_minute: u32,
    /// How many that may be; `None` if it is not limited.
    pub new_users_per_minute: Option<u32>,
    /// Clients that were given a first ticket within the last 50 to 60 seconds. They have no place
    /// until they bring it back, and may never do so.
    pub first_touches_in_last_minute: u32,
    /// Places in the line, with those of visitors who are away.
    pub waiting: u32,
    /// Visitors in the line who check in as they were asked to.
    pub present: u32,
    /// Places the line can have.
    pub line_capacity: u32,
    /// How long the first in line has waited; zero for an empty line.
    pub oldest_wait: Duration,
    /// Admissions per minute, measured over the last three minutes.
    pub admissions_per_minute: f64,
    /// The operator's mode.
    pub mode: RoomMode,
}

impl RoomSnapshot {
    /// A room without visitors, under these rules.
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
            admissions_per_minute: 0.0,
            mode: rules.mode(),
        }
    }
}
