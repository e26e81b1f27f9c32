//! A scheduled event in a configuration file.

use serde::Deserialize;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp,
    room::event::{Commitment, Event, Seed},
};

use super::WithSettings;
use crate::config::WaitingRoomConfigBuilder;

/// An event of the room, without the settings that it overrides. All other settings are those of
/// the room.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventFile {
    name: String,
    start: String,
    end: String,
    prequeue_start: Option<String>,
    shuffle_at_start: Option<String>,
    seed: Option<String>,
}

impl WithSettings<EventFile> {
    /// Adds the event to a builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a time is malformed or before 1970, or if the seed or the commitment is
    /// malformed. Everything else is checked when the configuration is built.
    pub(super) fn apply(
        self,
        builder: WaitingRoomConfigBuilder,
    ) -> Result<WaitingRoomConfigBuilder, ConfigError> {
        let Self { settings, fields } = self;
        let name = &*fields.name;
        let mut event = Event::new(name, time("start", &fields.start)?, time("end", &fields.end)?);
        if let Some(at) = fields.prequeue_start {
            event = event.prequeue_start(time("prequeue_start", &at)?);
        }
        if let Some(commitment) = fields.shuffle_at_start {
            event = event.shuffle_at_start(commitment.parse::<Commitment>()?);
        }
        // The two limits are always overridden together.
        let given = |name: &str| settings.iter().any(|(setting, _)| setting.name() == name);
        if given("total_active_users") && !given("new_users_per_minute") {
            event = event.limits(RoomRules::MAX_USERS, None);
        }
        for (setting, value) in settings {
            event = event.overriding(setting, value);
        }
        let builder = builder.event(event);
        Ok(match fields.seed {
            Some(seed) => builder.event_seed(fields.name, seed.parse::<Seed>()?),
            None => builder,
        })
    }
}

/// Parses a time. An error names the field.
fn time(field: &'static str, text: &str) -> Result<Timestamp, ConfigError> {
    text.parse().map_err(|error: ConfigError| {
        ConfigError::new(error.kind(), field, error.given(), error.expected())
    })
}
