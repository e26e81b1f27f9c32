//! What the oracle found.

use serde::Serialize;
use waiting_room_core::Timestamp;

use super::limits::VisitorNo;

/// What visitors saw of a room, and whether it kept its promises.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The limit on active visitors.
    pub total_active_users: u32,
    /// The limit on new visitors within any 60 seconds.
    pub new_users_per_minute: Option<u32>,
    /// How long a session outlives its last request, in seconds.
    pub session_duration_s: f64,
    /// Visitors who asked at least once.
    pub visitors: u64,
    /// Visitors who were let in at least once.
    pub admitted: u64,
    /// Visitors who gave up after a refusal, and were never let in.
    pub refused: u64,
    /// Visitors who gave up waiting, and were never let in.
    pub abandoned: u64,
    /// The most visitors who were certainly active at one instant.
    pub max_active: u64,
    /// The most visitors who were certainly let in within one window of 60 seconds.
    pub max_new_in_any_60s: u64,
    /// Answers that told a visitor to wait although more slots were free than visitors ahead.
    pub queued_while_free: u64,
    /// Answers that told a visitor to wait although one who came later had got in meanwhile.
    pub order_inversions: u64,
    /// Answers that took away a place or a session within the time for which it was promised.
    pub lost_places: u64,
    /// Answers that showed a higher position than the one before.
    pub position_rises: u64,
    /// Half of those let in waited no longer, from the first request on, in seconds.
    pub wait_p50_s: f64,
    /// 95 in 100 of those let in waited no longer, in seconds.
    pub wait_p95_s: f64,
    /// The longest wait of those let in, in seconds.
    pub wait_max_s: f64,
    /// Requests that departed.
    pub requests: u64,
    /// Answers that arrived.
    pub answers: u64,
    /// The seed of the run, if it had one.
    pub seed: Option<u64>,
    /// The first broken promises, as examples.
    #[serde(skip)]
    pub alarms: Vec<Alarm>,
}

impl Report {
    /// Notes the seed of the run.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The promises that were broken, by the names of the fields; empty for a good room.
    #[must_use]
    pub fn violations(&self) -> Vec<&'static str> {
        let limit = self.new_users_per_minute.map_or(u64::MAX, u64::from);
        [
            ("max_active", self.max_active > u64::from(self.total_active_users)),
            ("max_new_in_any_60s", self.max_new_in_any_60s > limit),
            ("queued_while_free", self.queued_while_free > 0),
            ("order_inversions", self.order_inversions > 0),
            ("lost_places", self.lost_places > 0),
            ("position_rises", self.position_rises > 0),
        ]
        .into_iter()
        .filter_map(|(name, broken)| broken.then_some(name))
        .collect()
    }
}

/// One broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alarm {
    /// Which promise.
    pub kind: AlarmKind,
    /// To whom.
    pub visitor: VisitorNo,
    /// When the request departed whose answer broke it.
    pub sent: Timestamp,
    /// When that answer arrived.
    pub answered: Timestamp,
}

/// A promise that one answer can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlarmKind {
    /// A place or a session was taken away.
    LostPlace,
    /// Somebody who came later got in first.
    OrderInversion,
    /// The shown position went up.
    PositionRise,
    /// A slot was free for this visitor.
    QueuedWhileFree,
}
