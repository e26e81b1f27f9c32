//! What is planned for a room: its own rules, its events, and the draw that has taken place.

#[cfg(feature = "lottery")]
use crate::room::event::Reveal;
use crate::{
    ConfigError, RoomRules, Timestamp,
    room::event::{Phase, Schedule},
};

/// The plan of a room that has a schedule, as a store returns it.
///
/// ```
/// use waiting_room_core::{RoomRules, Timestamp, room::event::{Event, RoomPlan, Schedule}};
///
/// let at = Timestamp::from_secs;
/// let doors = Event::new("doors", at(3_600), at(7_200)).with_limits(500, 100);
/// let plan = RoomPlan::new(RoomRules::new("shop", 200), Schedule::new([doors])?);
/// assert_eq!(plan.rules_at(at(4_000)).total_active_users(), 500);
/// assert_eq!(plan.rules_at(at(7_200)).total_active_users(), 200);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RoomPlan {
    rules: RoomRules,
    schedule: Schedule,
    #[cfg(feature = "lottery")]
    reveal: Option<Reveal>,
}

impl RoomPlan {
    /// Creates the plan of a room with these rules of its own.
    #[must_use]
    pub const fn new(rules: RoomRules, schedule: Schedule) -> Self {
        Self {
            rules,
            schedule,
            #[cfg(feature = "lottery")]
            reveal: None,
        }
    }

    /// Checks that the rules are valid, that the events do not contradict them, and that the seed of
    /// each draw is known. Stores check this before a change of either takes effect.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is invalid, for the first event that contradicts the
    /// rules, and for a draw whose seed is missing or for another room.
    pub fn validate(self) -> Result<Self, ConfigError> {
        let rules = self.rules.validate()?;
        self.schedule.check_with(&rules)?;
        self.schedule.check_seeds(rules.name())?;
        Ok(Self { rules, ..self })
    }

    /// Adds what is published about the latest draw.
    #[cfg(feature = "lottery")]
    #[must_use]
    pub fn with_reveal(mut self, reveal: Option<Reveal>) -> Self {
        self.reveal = reveal;
        self
    }

    /// Returns the room's own rules, which are in force while no event takes place.
    #[must_use]
    pub const fn rules(&self) -> &RoomRules {
        &self.rules
    }

    /// Returns the events of the room.
    #[must_use]
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns what is published about the latest draw, or `None` before the first draw.
    #[cfg(feature = "lottery")]
    #[must_use]
    pub const fn reveal(&self) -> Option<&Reveal> {
        self.reveal.as_ref()
    }

    /// Returns the phase at `at`, see [`Schedule::phase_at`].
    #[must_use]
    pub fn phase_at(&self, at: Timestamp) -> Phase<'_> {
        self.schedule.phase_at(at)
    }

    /// Returns the rules in force at `at`, see [`Schedule::rules_at`].
    #[must_use]
    pub fn rules_at(&self, at: Timestamp) -> RoomRules {
        self.schedule.rules_at(at, &self.rules)
    }
}
