//! A schedule as a store keeps it on a server, with the secret seeds of its draws.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(feature = "lottery")]
use crate::room::event::Seed;
use crate::{
    ConfigError, Timestamp,
    room::{
        event::{Schedule, event::Event},
        written::Overrides,
    },
};

/// A schedule in a form that can be serialized, for the nodes that share a store.
///
/// A record contains the secret seeds of the draws, because every node needs them at the start. The
/// record must be kept as secret as the seeds, so its [`Debug`](fmt::Debug) form shows none of its
/// contents. Fields that this release does not know are an error, because ignoring an override
/// would put the wrong rules into force.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRecord {
    events: Vec<EventRecord>,
    /// For each draw with a known seed, the name of the event and the digits of the seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seeds: Vec<(String, String)>,
}

/// One event, with times in nanoseconds since the Unix epoch.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct EventRecord {
    name: String,
    start: u64,
    end: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prequeue_start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shuffle_at_start: Option<String>,
    #[serde(default)]
    overrides: Overrides,
}

impl From<&Schedule> for ScheduleRecord {
    /// Returns the events and the known seeds of a schedule.
    fn from(schedule: &Schedule) -> Self {
        Self {
            events: schedule.events().iter().map(EventRecord::of).collect(),
            #[cfg(feature = "lottery")]
            seeds: schedule.seeds(),
            #[cfg(not(feature = "lottery"))]
            seeds: Vec::new(),
        }
    }
}

impl ScheduleRecord {
    /// Returns the schedule of the room with this name. As in [`Schedule::new`], the events may
    /// already be running or over.
    ///
    /// # Errors
    ///
    /// Returns an error under the conditions of [`Schedule::new`] and of `Schedule::with_seed`.
    /// Without the feature `lottery`, seeds are not read.
    pub fn into_schedule(self, room: &str) -> Result<Schedule, ConfigError> {
        let events = self.events.into_iter().map(EventRecord::into_event);
        let schedule = Schedule::new(events.collect::<Result<Vec<_>, _>>()?)?;
        #[cfg(not(feature = "lottery"))]
        let _ = room;
        #[cfg(feature = "lottery")]
        let schedule = self.seeds.iter().try_fold(schedule, |schedule, (event, seed)| {
            schedule.with_seed(room, event, seed.parse::<Seed>()?)
        })?;
        Ok(schedule)
    }
}

impl EventRecord {
    fn of(event: &Event) -> Self {
        Self {
            name: event.name.clone(),
            start: event.start.as_nanos(),
            end: event.end.as_nanos(),
            prequeue_start: event.prequeue_start.map(Timestamp::as_nanos),
            shuffle_at_start: event.shuffle_at_start.map(|commitment| commitment.to_string()),
            overrides: event.overrides.clone(),
        }
    }

    fn into_event(self) -> Result<Event, ConfigError> {
        let start = Timestamp::from_nanos(self.start);
        let end = Timestamp::from_nanos(self.end);
        let mut event = Event::new(self.name, start, end);
        event.prequeue_start = self.prequeue_start.map(Timestamp::from_nanos);
        event.shuffle_at_start =
            self.shuffle_at_start.map(|commitment| commitment.parse()).transpose()?;
        event.overrides = self.overrides;
        Ok(event)
    }
}

impl fmt::Debug for ScheduleRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleRecord").finish_non_exhaustive()
    }
}
