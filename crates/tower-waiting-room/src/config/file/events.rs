//! A scheduled event in a configuration file.

use serde::Deserialize;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp,
    error::ConfigErrorKind,
    room::event::{Commitment, Event, Seed},
};

use super::WithSettings;
use crate::config::WaitingRoomConfigBuilder;

/// An event of the room, besides the settings that it overrides. Settings that are not given are
/// those of the room.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventFile {
    /// The name of the event, which follows the same rules as the name of a room.
    name: String,
    /// The start, with a time zone, such as `2027-03-01T10:00:00+01:00`.
    start: jiff::Timestamp,
    /// The end, in the same form as the start.
    end: jiff::Timestamp,
    /// The time from which visitors wait for the start. By default, there is no prequeue.
    prequeue_start: Option<jiff::Timestamp>,
    /// The commitment to the seed of the draw, as 64 hexadecimal digits. It may be left out if the
    /// seed is given.
    shuffle_at_start: Option<String>,
    /// The secret seed of the draw, as 64 hexadecimal digits. By default, there is no draw, and the
    /// visitors keep their order of arrival.
    seed: Option<String>,
}

impl WithSettings<EventFile> {
    /// Adds the event to a builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a time is before 1970, or if the seed or the commitment is malformed.
    /// Everything else is checked when the configuration is built.
    pub(super) fn apply(
        self,
        builder: WaitingRoomConfigBuilder,
    ) -> Result<WaitingRoomConfigBuilder, ConfigError> {
        let Self { settings, fields } = self;
        let name = &*fields.name;
        let mut event = Event::new(name, time("start", fields.start)?, time("end", fields.end)?);
        if let Some(at) = fields.prequeue_start {
            event = event.with_prequeue_start(time("prequeue_start", at)?);
        }
        if let Some(commitment) = fields.shuffle_at_start {
            event = event.with_shuffle_at_start(commitment.parse::<Commitment>()?);
        }
        // Both limits are overridden together.
        let given = |name: &str| settings.iter().any(|(setting, _)| setting.name() == name);
        if given("total_active_users") && !given("new_users_per_minute") {
            event = event.with_limits(RoomRules::MAX_USERS, None);
        }
        for (setting, value) in settings {
            event = event.with_override(setting, value);
        }
        let builder = builder.event(event);
        Ok(match fields.seed {
            Some(seed) => builder.event_seed(fields.name, seed.parse::<Seed>()?),
            None => builder,
        })
    }
}

/// Converts a time in a file.
fn time(field: &'static str, at: jiff::Timestamp) -> Result<Timestamp, ConfigError> {
    let nanos = u64::try_from(at.as_nanosecond()).map_err(|_| {
        ConfigError::new(ConfigErrorKind::TooSmall, field, at, "at least 1970-01-01T00:00:00Z")
    })?;
    Ok(Timestamp::from_nanos(nanos))
}
