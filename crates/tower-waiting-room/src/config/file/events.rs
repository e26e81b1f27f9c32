//! A scheduled event in a configuration file.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError, Timestamp,
    error::ConfigErrorKind,
    room::{
        SessionRenewal,
        event::{Commitment, Event, Seed},
    },
};

use super::{rates::with, room::MethodName};
use crate::config::WaitingRoomConfigBuilder;

/// An event of the room. Rules that are not given are those of the room.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventFile {
    /// The name of the event, which follows the same rules as the name of a room.
    name: String,
    /// The start in the format of RFC 3339, such as `2027-03-01T10:00:00+01:00`.
    start: String,
    /// The end, in the same form as the start.
    end: String,
    /// The time from which visitors wait for the start. By default, there is no prequeue.
    prequeue_start: Option<String>,
    /// The commitment to the seed of the draw, as 64 hexadecimal digits. It may be left out if the
    /// seed is given.
    shuffle_at_start: Option<String>,
    /// The secret seed of the draw, as 64 hexadecimal digits. By default, there is no draw, and the
    /// visitors keep their order of arrival.
    seed: Option<String>,
    /// The maximum number of active visitors. If it is given, `new_users_per_minute` is overridden
    /// too.
    total_active_users: Option<u32>,
    /// The maximum number of visitors who are admitted within any 60 s. It needs
    /// `total_active_users`.
    new_users_per_minute: Option<u32>,
    /// The time for which a session lasts after its last request.
    #[serde(default, with = "friendly")]
    session_duration: Option<Duration>,
    /// Whether a session ends `session_duration` after its start.
    disable_session_renewal: Option<bool>,
    /// The order in which visitors are admitted.
    queueing_method: Option<MethodName>,
}

impl EventFile {
    /// Adds the event to a builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a time is malformed or before 1970, if the seed or the commitment is malformed, or if
    /// one of the limits is given without the other. Everything else is checked when the
    /// configuration is built.
    pub(super) fn apply(
        self,
        builder: WaitingRoomConfigBuilder,
    ) -> Result<WaitingRoomConfigBuilder, ConfigError> {
        let mut event =
            Event::new(&*self.name, time("start", &self.start)?, time("end", &self.end)?);
        if let Some(at) = self.prequeue_start {
            event = event.with_prequeue_start(time("prequeue_start", &at)?);
        }
        if let Some(commitment) = self.shuffle_at_start {
            event = event.with_shuffle_at_start(commitment.parse::<Commitment>()?);
        }
        event = match (self.total_active_users, self.new_users_per_minute) {
            (Some(users), per_minute) => event.with_limits(users, per_minute),
            (None, None) => event,
            (None, Some(given)) => {
                let expected = format!(
                    "absent in event {:?}, which has no total_active_users: both limits are \
                     overridden together",
                    self.name
                );
                let (kind, field) = (ConfigErrorKind::Contradicts, "new_users_per_minute");
                return Err(ConfigError::new(kind, field, given, expected));
            }
        };
        event = with(event, self.session_duration, |to, span| to.with_session_duration(span));
        event = with(event, self.disable_session_renewal, |to, is_disabled| {
            let (fixed, sliding) = (SessionRenewal::Fixed, SessionRenewal::Sliding);
            to.with_session_renewal(if is_disabled { fixed } else { sliding })
        });
        event = with(event, self.queueing_method, |to, name| to.with_queueing_method(name.into()));
        let builder = builder.event(event);
        Ok(match self.seed {
            Some(seed) => builder.event_seed(self.name, seed.parse::<Seed>()?),
            None => builder,
        })
    }
}

/// Reads a time, and names the field in an error.
fn time(field: &'static str, text: &str) -> Result<Timestamp, ConfigError> {
    text.parse().map_err(|error: ConfigError| {
        ConfigError::new(error.kind(), field, error.given(), error.expected())
    })
}
