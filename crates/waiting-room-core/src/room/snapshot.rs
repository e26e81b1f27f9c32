//! The numbers of a room, for metrics, status pages and the operator.

use std::time::Duration;

use crate::{RoomRules, Timestamp, room::RoomMode};

/// The numbers of a room, all of one instant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoomSnapshot {
    /// The instant, on the clock of the store.
    pub at: Timestamp,
    /// Slots in use: visitors with a session that has not ended.
    pub active: u32,
    /// The limit on slots. After it was lowered, more of them may be in use for a while.
    pub total_active_users: u32,
    /// Visitors admitted within the last 60 seconds.
    pub new_in_last_minute: u32,
    /// The limit on them; `None` if there is none.
    pub new_users_per_minute: Option<u32>,
    /// First tickets handed out within the last 50 to 60 seconds. A client has no place until it
    /// returns its ticket, which it may never do.
    pub first_touches_in_last_minute: u32,
    /// Places in the line, including those of visitors that are away.
    pub waiting: u32,
    /// Visitors in the line that check in as asked.
    pub present: u32,
    /// The most places that the line can have.
    pub line_capacity: u32,
    /// The time that the first visitor in line has waited; zero for an empty line.
    pub oldest_wait: Duration,
    /// Admissions per minute, measured over the last three minutes, or expected from the limits
    /// until 30 seconds have been measured.
    pub admissions_per_minute: f64,
    /// The mode that the operator has set.
    pub mode: RoomMode,
}

impl RoomSnapshot {
    /// Returns the numbers of a room without visitors, under these rules.
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
