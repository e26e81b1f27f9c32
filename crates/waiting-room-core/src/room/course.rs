//! The course of a room's events: the schedule, the stage, and the draw.

use std::time::Duration;

use crate::{
    RoomRules, Timestamp,
    room::{
        RoomMode,
        event::{Phase, RoomPlan, Schedule, drawing::Drawing},
    },
};

/// The course of a room's events.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// The room's own rules and its events.
    pub(super) plan: RoomPlan,
    /// The time at which the phase changes next, or `None` if it never changes again.
    pub(super) next_change: Option<Timestamp>,
    pub(super) stage: Stage,
    /// The draw of the latest event with a draw. It outlives its event, so that entrants who are
    /// still waiting keep their order.
    pub(super) drawing: Option<Box<Drawing>>,
    /// The number of times that the rules in force or the schedule have changed.
    pub(super) revision: u64,
}

/// The effect of the events on visitors since the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The event that started at this time is active.
    Active(Timestamp),
    /// No event is in progress.
    Idle,
    /// Visitors wait for an event that starts at this time. If the order will be drawn, the
    /// visitors get numbers.
    Prequeue { start: Timestamp, is_drawn: bool },
}

impl Course {
    /// Creates an empty schedule for a room with these rules.
    pub(super) fn new(base: RoomRules) -> Self {
        let plan = RoomPlan::new(base, Schedule::default());
        Self { plan, next_change: None, stage: Stage::Idle, drawing: None, revision: 0 }
    }

    /// Returns the time from `now` until the start of the event that visitors wait for, or zero.
    pub(super) fn until_start(&self, now: Timestamp) -> Duration {
        match self.stage {
            Stage::Prequeue { start, .. } => start.since(now),
            Stage::Active(_) | Stage::Idle => Duration::ZERO,
        }
    }

    /// Returns whether visitors wait for the start of an event. An operator's mode takes precedence.
    pub(super) fn is_prequeue(&self) -> bool {
        matches!(self.stage, Stage::Prequeue { .. }) && self.plan.rules.mode == RoomMode::Auto
    }

    /// Returns whether the order of the line is unknown until the start of an event.
    pub(super) const fn will_be_drawn(&self) -> bool {
        matches!(self.stage, Stage::Prequeue { is_drawn: true, .. })
    }
}

impl From<Phase<'_>> for Stage {
    fn from(phase: Phase<'_>) -> Self {
        match phase {
            Phase::Active { event, .. } => Self::Active(event.start),
            Phase::Before { .. } | Phase::Over => Self::Idle,
            Phase::Prequeue { event, .. } => {
                let is_drawn = event.shuffle_at_start.is_some();
                Self::Prequeue { start: event.start, is_drawn }
            }
        }
    }
}
