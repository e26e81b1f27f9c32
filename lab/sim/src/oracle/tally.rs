//! The counts of events, the waits, and the first alarms.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::{
    certain::{Active, Minute},
    limits::Limits,
    report::{Alarm, AlarmKind, Exceeded, Report},
};

/// The numbers of a report that need no reasoning.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub visitors: u64,
    pub admitted: u64,
    pub refused: u64,
    pub abandoned: u64,
    pub requests: u64,
    pub answers: u64,
    waits_ms: Histogram<u64>,
    longest_wait: Duration,
    by_kind: [u64; 5],
    alarms: Vec<Alarm>,
}

impl Tally {
    /// The number of alarms that are kept as examples; all are counted.
    const EXAMPLES: usize = 32;
    /// The longest wait of the histogram, a week; longer ones count as this.
    const LONGEST_MS: u64 = 7 * 24 * 60 * 60 * 1_000;

    pub(super) fn new() -> Self {
        Self {
            visitors: 0,
            admitted: 0,
            refused: 0,
            abandoned: 0,
            requests: 0,
            answers: 0,
            waits_ms: Histogram::new_with_max(Self::LONGEST_MS, 3)
                .expect("three digits of a week are within the range of a histogram"),
            longest_wait: Duration::ZERO,
            by_kind: [0; 5],
            alarms: Vec::new(),
        }
    }

    /// Records the wait of a visitor who was admitted.
    pub(super) fn waited(&mut self, wait: Duration) {
        self.longest_wait = self.longest_wait.max(wait);
        self.waits_ms.saturating_record(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }

    /// Records a broken promise.
    pub(super) fn alarm(&mut self, alarm: Alarm) {
        self.by_kind[alarm.kind as usize] += 1;
        if self.alarms.len() < Self::EXAMPLES {
            self.alarms.push(alarm);
        }
    }

    /// The number of broken promises of one kind.
    pub(super) fn of_kind(&self, kind: AlarmKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Makes the report of a run.
    pub(super) fn report(self, limits: &Limits, active: &Active, minute: &Minute) -> Report {
        let wait = |quantile| seconds(self.waits_ms.value_at_quantile(quantile));
        Report {
            total_active_users: limits.total_active_users,
            new_users_per_minute: limits.new_users_per_minute,
            session_duration_s: limits.session_duration.as_secs_f64(),
            visitors: self.visitors,
            admitted: self.admitted,
            refused: self.refused,
            abandoned: self.abandoned,
            max_active: active.highest(),
            max_new_in_any_60s: minute.highest(),
            queued_while_free: self.of_kind(AlarmKind::QueuedWhileFree),
            order_inversions: self.of_kind(AlarmKind::OrderInversion),
            lost_places: self.of_kind(AlarmKind::LostPlace),
            position_rises: self.of_kind(AlarmKind::PositionRise),
            wait_p50_s: wait(0.5),
            wait_p95_s: wait(0.95),
            wait_max_s: self.longest_wait.as_secs_f64(),
            requests: self.requests,
            answers: self.answers,
            seed: None,
            event: None,
            alarms: self.alarms,
            exceeded: Exceeded { active: active.has_exceeded(), new: minute.has_exceeded() },
        }
    }
}

fn seconds(millis: u64) -> f64 {
    Duration::from_millis(millis).as_secs_f64()
}
