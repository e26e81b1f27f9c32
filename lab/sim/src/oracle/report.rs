//! The findings of the oracle.

use serde::Serialize;
use waiting_room_core::Timestamp;

use super::limits::VisitorNo;

/// The experience of the visitors of a room, and whether it kept its promises.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The limit on active visitors.
    pub total_active_users: u32,
    /// The limit on new visitors within any 60 seconds.
    pub new_users_per_minute: Option<u32>,
    /// How long a session outlives its last request, in seconds.
    pub session_duration_s: f64,
    /// Visitors who sent at least one request.
    pub visitors: u64,
    /// Visitors who were admitted at least once.
    pub admitted: u64,
    /// Visitors who gave up after a refusal, and were never admitted.
    pub refused: u64,
    /// Visitors who gave up waiting, and were never admitted.
    pub abandoned: u64,
    /// The most visitors who were certainly active at one instant.
    pub max_active: u64,
    /// The most visitors who were certainly admitted within one window of 60 seconds.
    pub max_new_in_any_60s: u64,
    /// Answers that made a visitor wait although more slots were free than visitors stood ahead.
    pub queued_while_free: u64,
    /// Answers that made a visitor wait although a later visitor had been admitted meanwhile.
    pub order_inversions: u64,
    /// Answers that took away a place or a session within the time for which it was promised.
    pub lost_places: u64,
    /// Answers that showed a higher position than the one before.
    pub position_rises: u64,
    /// The median wait of admitted visitors, from the first request on, in seconds.
    pub wait_p50_s: f64,
    /// The 95th percentile of their waits, in seconds.
    pub wait_p95_s: f64,
    /// The longest of their waits, in seconds.
    pub wait_max_s: f64,
    /// Requests that departed.
    pub requests: u64,
    /// Answers that arrived.
    pub answers: u64,
    /// The seed of the run, if it had one.
    pub seed: Option<u64>,
    /// What the visitors saw of the event, if there was one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventReport>,
    /// The first alarms, as examples.
    #[serde(skip)]
    pub alarms: Vec<Alarm>,
    #[serde(skip)]
    pub(super) exceeded: Exceeded,
}

/// A scheduled event as its visitors saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EventReport {
    /// Visitors who were told a number in the draw.
    pub entrants: u64,
    /// Visitors who were admitted in the prequeue.
    pub event_early: u64,
    /// Answers with a number that another visitor also has, or with a place that does not follow
    /// from the published draw.
    pub draw_mismatches: u64,
}

/// The limits that were certainly exceeded. During an event, the limits that apply are not those in
/// the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub active: bool,
    pub new: bool,
}

impl Report {
    /// Adds the seed of the run.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The names of the fields that show a broken promise; empty for a correct room.
    #[must_use]
    pub fn violations(&self) -> Vec<&'static str> {
        let event = self.event.unwrap_or_default();
        [
            ("max_active", self.exceeded.active),
            ("max_new_in_any_60s", self.exceeded.new),
            ("queued_while_free", self.queued_while_free > 0),
            ("order_inversions", self.order_inversions > 0),
            ("lost_places", self.lost_places > 0),
            ("position_rises", self.position_rises > 0),
            ("event_early", event.event_early > 0),
            ("draw_mismatches", event.draw_mismatches > 0),
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
    /// The promise that was broken.
    pub kind: AlarmKind,
    /// The visitor to whom it was broken.
    pub visitor: VisitorNo,
    /// When the request whose answer broke it departed.
    pub sent: Timestamp,
    /// When that answer arrived.
    pub answered: Timestamp,
}

/// A promise that one answer can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlarmKind {
    /// The visitor was admitted before the start of the event.
    EventEarly,
    /// A place or a session was taken away.
    LostPlace,
    /// A visitor who arrived later was admitted first.
    OrderInversion,
    /// The shown position has risen.
    PositionRise,
    /// The visitor had to wait although a slot was free for it.
    QueuedWhileFree,
}
