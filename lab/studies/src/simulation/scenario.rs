//! The settings of a simulation: the room, the faults, and the seed of all randomness.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp,
    room::{
        Recovery,
        event::{Commitment, Event, Schedule, Seed},
    },
};
use waiting_room_sim::{EventPromise, Limits};

use super::Habits;

/// One run of the simulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    pub(crate) line_capacity: u32,
    pub(crate) recovery: Recovery,
    pub(crate) restart_after: Option<Duration>,
    pub(crate) latency: Duration,
    pub(crate) loss: f64,
    pub(crate) habits: Habits,
    pub(crate) event: Option<ScheduledEvent>,
}

/// A scheduled event of a simulation. Its times are counted from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledEvent {
    /// The beginning of the prequeue.
    pub prequeue_after: Duration,
    /// The start, from which visitors are admitted.
    pub start_after: Duration,
    /// The end.
    pub end_after: Duration,
    /// Whether the order of the visitors in the prequeue is drawn at the start.
    pub is_drawn: bool,
    /// The limit on active visitors from the prequeue to the end.
    pub total_active_users: u32,
    /// The limit on new visitors within 60 seconds from the prequeue to the end.
    pub new_users_per_minute: Option<u32>,
}

impl Scenario {
    /// The names of the room and of its event.
    const ROOM: &str = "simulation";
    const EVENT: &str = "doors";

    /// Creates a scenario with 200 slots, 200 new visitors a minute and sessions of 60 seconds.
    /// Answers take no time, and nothing fails.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            limits: Limits {
                total_active_users: 200,
                new_users_per_minute: Some(200),
                session_duration: Duration::from_secs(60),
                place_retention: Duration::from_secs(300),
                refresh_interval: Duration::from_secs(20),
            },
            line_capacity: 100_000,
            recovery: Recovery::AdmitAtOnce,
            restart_after: None,
            latency: Duration::ZERO,
            loss: 0.0,
            habits: Habits::default(),
            event: None,
        }
    }

    /// Sets the limits of the room.
    pub(crate) fn limits(
        mut self,
        users: u32,
        per_minute: impl Into<Option<u32>>,
        session: Duration,
    ) -> Self {
        self.limits.total_active_users = users;
        self.limits.new_users_per_minute = per_minute.into();
        self.limits.session_duration = session;
        self
    }

    /// Sets the number of places in the line. 100 000 by default.
    pub(crate) fn line_capacity(mut self, places: u32) -> Self {
        self.line_capacity = places;
        self
    }

    /// Makes the room lose its memory `after` the beginning, and recover in this way.
    pub(crate) fn restart(mut self, after: Duration, recovery: Recovery) -> Self {
        self.restart_after = Some(after);
        self.recovery = recovery;
        self
    }

    /// Sets the mean time that a request takes to arrive, and an answer. The times are exponential.
    pub(crate) fn latency(mut self, mean: Duration) -> Self {
        self.latency = mean;
        self
    }

    /// Sets the share of requests that fail, on the way to the room or on the way back.
    ///
    /// Has an effect only with a [`latency`](Self::latency).
    pub(crate) fn loss(mut self, share: f64) -> Self {
        self.loss = share;
        self
    }

    /// Sets the behaviour of the visitors.
    #[cfg(test)]
    pub(crate) fn habits(mut self, habits: Habits) -> Self {
        self.habits = habits;
        self
    }

    /// Schedules an event. Its visitors are more patient: half of those who come during the prequeue
    /// wait for the start, and their patience is counted from then on.
    pub(crate) fn event(mut self, event: ScheduledEvent) -> Self {
        self.event = Some(event);
        self
    }

    /// The promises of the event, if there is one, for a run that begins at `opened`.
    pub(crate) fn event_promise(&self, opened: Timestamp) -> Option<EventPromise> {
        self.event.map(|event| EventPromise {
            prequeue_start: opened + event.prequeue_after,
            start: opened + event.start_after,
            end: opened + event.end_after,
            is_drawn: event.is_drawn,
            total_active_users: event.total_active_users,
            new_users_per_minute: event.new_users_per_minute,
        })
    }

    /// The events of the room, for a run that begins at `opened`. The secret seed of the draw is
    /// derived from that of the scenario.
    pub(crate) fn schedule(&self, opened: Timestamp) -> Result<Schedule, ConfigError> {
        let Some(promise) = self.event_promise(opened) else { return Ok(Schedule::default()) };
        let event = Event::new(Self::EVENT, promise.start, promise.end)
            .prequeue_start(promise.prequeue_start)
            .limits(promise.total_active_users, promise.new_users_per_minute);
        let schedule = Schedule::new([event])?;
        if promise.is_drawn {
            let seed = Pcg64Mcg::seed_from_u64(self.seed).random();
            schedule.with_seed(Self::ROOM, Self::EVENT, Seed::new(seed))
        } else {
            Ok(schedule)
        }
    }

    /// The commitment to the draw of the event, if there is one.
    pub(crate) fn commitment(&self, opened: Timestamp) -> Option<Commitment> {
        self.schedule(opened).ok()?.events().first()?.shuffle_at_start
    }

    /// The rules of the room.
    pub(crate) fn rules(&self) -> RoomRules {
        RoomRules::new(Self::ROOM, self.limits.total_active_users)
            .new_users_per_minute(self.limits.new_users_per_minute)
            .session_duration(self.limits.session_duration)
            .place_retention(self.limits.place_retention)
            .line_capacity(self.line_capacity)
    }
}
