//! The events of one room, and what they mean for the room at a given time.

use std::time::Duration;

#[cfg(feature = "lottery")]
use crate::room::event::Lottery;
use crate::{
    ConfigError, RoomRules, Timestamp,
    error::ConfigErrorKind,
    room::{RoomMode, SettingValue, event::event::Event},
};

/// The events of one room, in order, without overlap.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::{RoomRules, Timestamp};
/// use waiting_room_core::room::event::{Event, Phase, Schedule};
///
/// let at = |secs| Timestamp::from_secs(secs);
/// let doors = Event::new("doors", at(3_600), at(7_200))
///     .prequeue_start(at(1_800))
///     .limits(500, 100);
/// let schedule = Schedule::new([doors])?;
///
/// let Phase::Prequeue { starts_in, .. } = schedule.phase_at(at(3_000)) else { panic!() };
/// assert_eq!(starts_in, Duration::from_secs(600));
///
/// let base = RoomRules::new("shop", 200);
/// assert_eq!(schedule.rules_at(at(4_000), &base).total_active_users, 500);
/// assert_eq!(schedule.rules_at(at(7_200), &base), base);
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The events by start, none of which overlap.
    events: Vec<Event>,
    /// The latest time that the schedule has been told. The schedule never goes back before that
    /// time.
    latest: Timestamp,
    /// The draws of the events, with their secret seeds.
    #[cfg(feature = "lottery")]
    pub(super) lotteries: Vec<Lottery>,
}

/// The state of a schedule at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a time is before, in or after an event")]
pub enum Phase<'a> {
    /// An event has started and is not over. Its rules are in force.
    Active {
        /// The event.
        event: &'a Event,
        /// The time until the end of the event.
        ends_in: Duration,
    },
    /// No event is in progress, but one is still to come. The room's own rules are in force.
    Before {
        /// The next event.
        event: &'a Event,
        /// The time until its prequeue begins or, without a prequeue, until its start.
        begins_in: Duration,
    },
    /// No event is in progress, and no other event will come. The room's own rules are in force.
    Over,
    /// Visitors wait for the start of an event. Its rules are in force, and no visitor is admitted.
    Prequeue {
        /// The event.
        event: &'a Event,
        /// The time until the start of the event.
        starts_in: Duration,
    },
}

impl Schedule {
    /// The maximum number of events of one room, including events that are over.
    ///
    /// Cloudflare permits five events per room. The maximum bounds the work of each function.
    pub const MAX_EVENTS: usize = 64;

    /// Creates a schedule, for the start-up of a room.
    ///
    /// The events may be in any order, and may already be running or over: after a restart in the
    /// middle of an event, the room continues with that event.
    ///
    /// # Errors
    ///
    /// Returns an error for the first event that is invalid, for two events that have the same name
    /// or overlap, and for more than [`MAX_EVENTS`](Self::MAX_EVENTS) events. The prequeue belongs
    /// to its event, so it may not overlap with another event either.
    pub fn new(events: impl IntoIterator<Item = Event>) -> Result<Self, ConfigError> {
        // One event more than permitted is enough to notice that there are too many.
        let events = events.into_iter().take(Self::MAX_EVENTS + 1).map(Event::validate);
        let mut events = events.collect::<Result<Vec<_>, _>>()?;
        if events.len() > Self::MAX_EVENTS {
            let given = "a longer list";
            let expected = format!("at most {}", Self::MAX_EVENTS);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "events", given, expected));
        }
        events.sort_by_key(Event::begins_at);
        check_names(&events)?;
        events.windows(2).try_for_each(|pair| check_overlap(&pair[0], &pair[1]))?;
        Ok(Self { events, ..Self::default() })
    }

    /// Tells the schedule the current time, and returns the time that the schedule uses: the latest
    /// that it has been told.
    ///
    /// If the clock is set back, the schedule stands still until the clock has caught up. An event
    /// that has started therefore stays active, and an event that is over does not begin again.
    pub(crate) fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Adds an event, which may begin at `now` at the earliest.
    ///
    /// # Errors
    ///
    /// Returns an error if the event begins in the past, has the name of another event, or does not
    /// fit into the schedule. After an error, the schedule is unchanged.
    pub fn add(&mut self, event: Event, now: Timestamp) -> Result<(), ConfigError> {
        let events = self.events.iter().cloned().chain([event]).collect::<Vec<_>>();
        self.replace(events, now)
    }

    /// Replaces the event of the same name.
    ///
    /// The [module docs](crate::room::event#changes-to-a-running-event) describe which changes are
    /// possible once the event has begun.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no event with this name, if the change affects what is fixed, or
    /// if the event no longer fits into the schedule. After an error, the schedule is unchanged.
    pub fn change(&mut self, event: Event, now: Timestamp) -> Result<(), ConfigError> {
        self.position(&event.name)?;
        let events = self
            .events
            .iter()
            .map(|old| if old.name == event.name { event.clone() } else { old.clone() });
        self.replace(events.collect::<Vec<_>>(), now)
    }

    /// Removes an event. If the event is in progress, this ends it.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no event with this name.
    pub fn remove(&mut self, name: &str, now: Timestamp) -> Result<Event, ConfigError> {
        let position = self.position(name)?;
        self.advance(now);
        Ok(self.events.remove(position))
    }

    /// Replaces all events, for example after a configuration file has changed. Two events are the
    /// same if they have the same name.
    ///
    /// An event that is no longer in the list is removed. The same rules apply as for
    /// [`add`](Self::add) and [`change`](Self::change).
    ///
    /// # Errors
    ///
    /// Returns an error for the first event that may not be added or changed in this way. After an
    /// error, the schedule is unchanged.
    pub fn replace(
        &mut self,
        events: impl IntoIterator<Item = Event>,
        now: Timestamp,
    ) -> Result<(), ConfigError> {
        self.follow(Self::new(events)?, now)
    }

    /// Replaces all events with those of another schedule, and adds its seeds to those that are
    /// known. After an error, the schedule is unchanged.
    pub(in crate::room) fn follow(
        &mut self,
        next: Self,
        now: Timestamp,
    ) -> Result<(), ConfigError> {
        let now = self.latest.max(now);
        for event in &next.events {
            match self.event(&event.name) {
                Some(old) => check_change(old, event, now)?,
                None => check_beginning(event, now)?,
            }
        }
        #[cfg(feature = "lottery")]
        let next = next.with_seeds_of(self);
        *self = Self { latest: now, ..next };
        Ok(())
    }

    /// Replaces the events with those of a release, see
    /// [`RoomPlan::follow_release`](super::RoomPlan::follow_release). After an error, the schedule is
    /// unchanged.
    pub(super) fn follow_release(
        &mut self,
        release: &Self,
        now: Timestamp,
    ) -> Result<(), ConfigError> {
        let now = self.latest.max(now);
        let takes_place = |event: &&Event| event.begins_at() <= now && now < event.end;
        let mut events = release.events.clone();
        for old in self.events.iter().filter(takes_place) {
            match release.event(&old.name) {
                Some(new) => check_change(old, new, now)?,
                None => events.push(old.clone()),
            }
        }
        let next = Self::new(events)?;
        #[cfg(feature = "lottery")]
        let next = next.with_seeds_of(release).with_seeds_of(self);
        *self = Self { latest: now, ..next };
        Ok(())
    }

    /// Returns the events in the order in which they take place.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the event with this name.
    #[must_use]
    pub fn event(&self, name: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Returns the phase at `at`, or at the latest time that the schedule has been told if `at` is
    /// earlier.
    #[must_use]
    pub fn phase_at(&self, at: Timestamp) -> Phase<'_> {
        let at = self.latest.max(at);
        match self.events.iter().find(|event| at < event.end) {
            None => Phase::Over,
            Some(event) if at < event.begins_at() => {
                Phase::Before { event, begins_in: event.begins_at().since(at) }
            }
            Some(event) if at < event.start => {
                Phase::Prequeue { event, starts_in: event.start.since(at) }
            }
            Some(event) => Phase::Active { event, ends_in: event.end.since(at) },
        }
    }

    /// Returns the rules in force at `at`, or at the latest time that the schedule has been told if
    /// `at` is earlier, for a room whose own rules are `base`.
    ///
    /// During a prequeue, the mode is [`RoomMode::QueueAll`]. An operator's mode takes precedence
    /// over events: if the mode of `base` is not [`RoomMode::Auto`], it is kept.
    #[must_use]
    pub fn rules_at(&self, at: Timestamp, base: &RoomRules) -> RoomRules {
        match self.phase_at(at) {
            Phase::Active { event, .. } => event.rules(base),
            Phase::Before { .. } | Phase::Over => base.clone(),
            Phase::Prequeue { event, .. } => {
                let mut rules = event.rules(base);
                if rules.mode == RoomMode::Auto {
                    rules.mode = RoomMode::QueueAll;
                }
                rules
            }
        }
    }

    /// Returns the first time after `after` at which the phase changes, or `None` if it never
    /// changes again.
    pub(crate) fn next_change(&self, after: Timestamp) -> Option<Timestamp> {
        let after = self.latest.max(after);
        let event = self.events.iter().find(|event| after < event.end)?;
        [event.begins_at(), event.start, event.end].into_iter().find(|at| after < *at)
    }

    /// Returns the longest session duration of the events that override it, or `None` if no event
    /// does.
    pub(super) fn longest_session_duration(&self) -> Option<Duration> {
        let durations =
            self.events.iter().filter_map(|event| event.overrides.get("session_duration"));
        durations.filter_map(SettingValue::duration).max()
    }

    /// Checks whether the events and the room's own rules contradict each other.
    ///
    /// # Errors
    ///
    /// Returns an error for the first event whose prequeue or draw has no effect under the queueing
    /// method of the event, which may be inherited.
    pub(in crate::room) fn check_with(&self, base: &RoomRules) -> Result<(), ConfigError> {
        self.events.iter().try_for_each(|event| event.check_with(base))
    }

    /// Returns the event with this name, for a change.
    #[cfg(feature = "lottery")]
    pub(super) fn event_mut(&mut self, name: &str) -> Result<&mut Event, ConfigError> {
        let position = self.position(name)?;
        Ok(&mut self.events[position])
    }

    /// Checks that no event has a draw, which needs the feature `lottery`.
    #[cfg(not(feature = "lottery"))]
    pub(super) fn check_seeds(&self, _room: &str) -> Result<(), ConfigError> {
        match self.events.iter().find_map(|event| event.shuffle_at_start) {
            None => Ok(()),
            Some(given) => Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "shuffle_at_start",
                given,
                "absent, because the feature \"lottery\" is off",
            )),
        }
    }

    fn position(&self, name: &str) -> Result<usize, ConfigError> {
        self.events.iter().position(|event| event.name == name).ok_or_else(|| {
            let given = format!("{:?}", name.chars().take(80).collect::<String>());
            let expected = "the name of an event of this room";
            ConfigError::new(ConfigErrorKind::Missing, "name", given, expected)
        })
    }
}

/// Checks that no two events have the same name.
fn check_names(events: &[Event]) -> Result<(), ConfigError> {
    let mut names = events.iter().map(|event| &event.name).collect::<Vec<_>>();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(ConfigError::new(
            ConfigErrorKind::Contradicts,
            "name",
            format_args!("{:?} for two events", pair[0]),
            "a different name for each event",
        )),
    }
}

/// Checks that an event is over when the next one begins.
fn check_overlap(earlier: &Event, later: &Event) -> Result<(), ConfigError> {
    if earlier.end <= later.begins_at() {
        return Ok(());
    }
    let relation = format!("at or after the end of event {:?}", earlier.name);
    Err(later.contradicts(beginning(later), later.begins_at(), &relation, earlier.end))
}

/// Checks that an event does not begin in the past.
fn check_beginning(event: &Event, now: Timestamp) -> Result<(), ConfigError> {
    if event.begins_at() < now {
        Err(in_the_past(event, beginning(event), event.begins_at(), now))
    } else {
        Ok(())
    }
}

/// Checks that a change of an event does not affect what has begun.
fn check_change(old: &Event, new: &Event, now: Timestamp) -> Result<(), ConfigError> {
    if old == new {
        return Ok(());
    }
    if old.end <= now {
        let relation = "unchanged, because the event has been over since";
        return Err(new.contradicts("end", new.end, relation, old.end));
    }
    if now < old.begins_at() {
        return check_beginning(new, now);
    }
    if new.prequeue_start != old.prequeue_start {
        let time =
            |event: &Event| event.prequeue_start.map_or("absent".into(), |at| at.to_string());
        return Err(fixed(old, "prequeue_start", &time(new), &time(old)));
    }
    if new.shuffle_at_start != old.shuffle_at_start {
        let commitment =
            |event: &Event| event.shuffle_at_start.map_or("absent".into(), |sum| sum.to_string());
        return Err(fixed(old, "shuffle_at_start", &commitment(new), &commitment(old)));
    }
    if now < old.start {
        return if new.start < now {
            Err(in_the_past(new, "start", new.start, now))
        } else {
            Ok(())
        };
    }
    if new.start != old.start {
        return Err(fixed(old, "start", &new.start.to_string(), &old.start.to_string()));
    }
    if new.end < now { Err(in_the_past(new, "end", new.end, now)) } else { Ok(()) }
}

/// Returns the name of the field that determines when an event begins.
fn beginning(event: &Event) -> &'static str {
    event.prequeue_start.map_or("start", |_| "prequeue_start")
}

fn in_the_past(
    event: &Event,
    field: &'static str,
    given: Timestamp,
    now: Timestamp,
) -> ConfigError {
    event.contradicts(field, given, "at or after the current time", now)
}

/// Returns an error for the change of a value that is fixed once its event has begun.
fn fixed(event: &Event, field: &'static str, given: &str, expected: &str) -> ConfigError {
    ConfigError::new(
        ConfigErrorKind::Contradicts,
        field,
        given,
        format_args!("{expected}, because event {:?} has begun", event.name),
    )
}
