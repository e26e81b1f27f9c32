//! What is simulated: the room, the faults, and the seed that fixes all chance.

use std::time::Duration;

use waiting_room_core::{RoomRules, room::Recovery};

use crate::{Habits, Limits};

/// One run of the simulator.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_sim::Scenario;
///
/// let scenario = Scenario::new(7).limits(200, 200, Duration::from_secs(60));
/// assert_eq!(scenario.promises().total_active_users, 200);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    pub(crate) line_capacity: u32,
    pub(crate) recovery: Recovery,
    pub(crate) restart_after: Option<Duration>,
    pub(crate) latency: Duration,
    pub(crate) loss: f64,
    pub(crate) habits: Habits,
    pub(crate) minute: Duration,
}

impl Scenario {
    /// 200 slots, 200 new visitors a minute, sessions of 60 seconds; answers take no time and
    /// nothing fails.
    #[must_use]
    pub fn new(seed: u64) -> Self {
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
            minute: Duration::from_secs(60),
        }
    }

    /// The limits of the room.
    #[must_use]
    pub fn limits(
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

    /// The line has at most this many places.
    #[must_use]
    pub fn line_capacity(mut self, places: u32) -> Self {
        self.line_capacity = places;
        self
    }

    /// The room loses its memory this long after the beginning, and recovers in this way.
    #[must_use]
    pub fn restart(mut self, after: Duration, recovery: Recovery) -> Self {
        self.restart_after = Some(after);
        self.recovery = recovery;
        self
    }

    /// Requests and answers take this long each, on average; the times are exponential.
    #[must_use]
    pub fn latency(mut self, mean: Duration) -> Self {
        self.latency = mean;
        self
    }

    /// This share of the requests fails, on the way there or on the way back.
    ///
    /// Has an effect only with a [`latency`](Self::latency).
    #[must_use]
    pub fn loss(mut self, share: f64) -> Self {
        self.loss = share;
        self
    }

    /// How visitors behave.
    #[must_use]
    pub fn habits(mut self, habits: Habits) -> Self {
        self.habits = habits;
        self
    }

    /// A minute of the trace takes this long: less than 60 seconds compresses the day.
    #[must_use]
    pub fn minute(mut self, minute: Duration) -> Self {
        self.minute = minute;
        self
    }

    /// What the room promises.
    #[must_use]
    pub const fn promises(&self) -> Limits {
        self.limits
    }

    /// The rules of the room.
    #[must_use]
    pub fn rules(&self) -> RoomRules {
        RoomRules::new("simulation", self.limits.total_active_users)
            .with_new_users_per_minute(self.limits.new_users_per_minute)
            .with_session_duration(self.limits.session_duration)
            .with_place_retention(self.limits.place_retention)
            .with_line_capacity(self.line_capacity)
    }
}
