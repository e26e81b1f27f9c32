//! The plan of a room, as stores keep it: its own rules, its events, and the latest draw.

use std::time::Duration;

#[cfg(feature = "lottery")]
use crate::room::event::{Event, Lottery, Reveal};
use crate::{
    ConfigError, RoomRules, Timestamp,
    room::event::{Phase, Schedule},
};

/// The plan of a room, as a store keeps and returns it.
///
/// An operator changes the rules and the [`Schedule`]. The plan contains both, and the latest draw,
/// which the store adds.
///
/// ```
/// use waiting_room_core::{RoomRules, Timestamp, room::event::{Event, RoomPlan, Schedule}};
///
/// let at = Timestamp::from_secs;
/// let doors = Event::new("doors", at(3_600), at(7_200)).limits(500, 100);
/// let plan = RoomPlan::new(RoomRules::new("shop", 200), Schedule::new([doors])?);
/// assert_eq!(plan.rules_at(at(4_000)).total_active_users, 500);
/// assert_eq!(plan.rules_at(at(7_200)).total_active_users, 200);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoomPlan {
    /// The room's own rules, which are in force while no event is in progress.
    pub rules: RoomRules,
    /// The events of the room.
    pub schedule: Schedule,
    /// The published data of the latest draw, or `None` before the first draw.
    #[cfg(feature = "lottery")]
    pub reveal: Option<Reveal>,
}

impl RoomPlan {
    /// Creates the plan of a room from its own rules and its events.
    #[must_use]
    pub const fn new(rules: RoomRules, schedule: Schedule) -> Self {
        Self {
            rules,
            schedule,
            #[cfg(feature = "lottery")]
            reveal: None,
        }
    }

    /// Checks that the rules are valid, that the events do not contradict them, and that the seed
    /// of each draw is known. Stores check this before a change of the rules or the events takes
    /// effect.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is invalid, for the first event that contradicts the
    /// rules, and for a draw whose seed is missing or for another room.
    pub fn validate(self) -> Result<Self, ConfigError> {
        let rules = self.rules.validate()?;
        self.schedule.check_with(&rules)?;
        self.schedule.check_seeds(&rules.name)?;
        Ok(Self { rules, ..self })
    }

    /// Replaces the events, as [`Schedule::replace`] does, and adds the seeds of the new schedule to
    /// those that are known.
    ///
    /// # Errors
    ///
    /// Returns an error under the conditions of [`Schedule::replace`] and of
    /// [`validate`](Self::validate).
    pub fn follow(mut self, next: Schedule, now: Timestamp) -> Result<Self, ConfigError> {
        self.schedule.follow(next, now)?;
        self.validate()
    }

    /// Replaces the events with those in the configuration of a starting node of a shared room,
    /// such as a node of another release. The seeds of the release are added to those that are
    /// known.
    ///
    /// The visitors of all other nodes rely on an event in progress, so a starting node must not
    /// change it freely: the rules of [`Schedule::change`] apply, and the event stays even if the
    /// release lacks it. All other events are those of the release. As in [`Schedule::new`],
    /// they may already be running or over.
    ///
    /// # Errors
    ///
    /// Returns an error if the release changes what is fixed about an event in progress, or has
    /// another event that overlaps with that event, and under the conditions of
    /// [`validate`](Self::validate).
    pub fn follow_release(
        mut self,
        release: &Schedule,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        self.schedule.follow_release(release, now)?;
        self.validate()
    }

    /// Returns the draw of an event, if its seed is known.
    #[cfg(feature = "lottery")]
    #[must_use]
    pub fn lottery(&self, event: &Event) -> Option<&Lottery> {
        self.schedule.lottery(event)
    }

    /// Returns the first time after `after` at which the phase changes, or `None` if it never
    /// changes again.
    #[must_use]
    pub fn next_change(&self, after: Timestamp) -> Option<Timestamp> {
        self.schedule.next_change(after)
    }

    /// Returns the longest lifetime of a pass that the room issues, under its own rules and during
    /// its events.
    #[must_use]
    pub fn longest_pass_lifetime(&self) -> Duration {
        let longest = self.schedule.longest_session_duration().unwrap_or_default();
        self.rules.timing().longest_pass_lifetime().max(longest + longest / 8)
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
