//! The room options that are tables in a configuration file: keys, push streams, and the statuses
//! of answers.

use std::time::Duration;

use http::StatusCode;
use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::settings::with;
use crate::{
    config::WaitingRoomConfigBuilder,
    request::ClientKind,
    room::Push,
    token::{KeyRing, TokenKey},
};

/// The options of push. An absent field has the same default as in [`Push`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PushFile {
    path: String,
    max_streams: Option<u32>,
    max_streams_per_network: Option<u32>,
    #[serde(default, with = "friendly")]
    heartbeat: Option<Duration>,
    #[serde(default, with = "friendly")]
    lifetime: Option<Duration>,
}

/// The HTTP statuses of answers to waiting clients, one for each kind of client.
///
/// Each status is 200, 202, 429 or 503. There is no field for gRPC clients, whose HTTP status is
/// always 200.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusFile {
    json: Option<u16>,
    navigation: Option<u16>,
    problem: Option<u16>,
    text: Option<u16>,
}

/// Decodes the keys of a key ring. Returns `None` if there are no keys.
pub(super) fn key_ring(keys: &[String]) -> Result<Option<KeyRing>, ConfigError> {
    let Some((sealing, older)) = keys.split_first() else { return Ok(None) };
    let mut ring = KeyRing::new(TokenKey::from_base64(sealing)?);
    for key in older {
        ring = ring.also_opens(TokenKey::from_base64(key)?);
    }
    Ok(Some(ring))
}

impl PushFile {
    /// Returns the default options with every given field applied.
    pub(super) fn options(self) -> Push {
        let mut push = Push::at(self.path);
        push = with(push, self.max_streams, Push::max_streams);
        push = with(push, self.max_streams_per_network, Push::max_streams_per_network);
        push = with(push, self.heartbeat, Push::heartbeat);
        with(push, self.lifetime, Push::lifetime)
    }
}

impl StatusFile {
    /// Sets every status that is given.
    ///
    /// # Errors
    ///
    /// Returns an error if a status is not an HTTP status.
    pub(super) fn apply(
        &self,
        mut builder: WaitingRoomConfigBuilder,
    ) -> Result<WaitingRoomConfigBuilder, ConfigError> {
        for (kind, status) in self.by_kind() {
            let status = StatusCode::from_u16(status).map_err(|_| {
                ConfigError::new(ConfigErrorKind::Malformed, "status", status, "an HTTP status")
            })?;
            builder = builder.status(kind, status);
        }
        Ok(builder)
    }

    /// Returns every status that is given, together with the kind of client that gets it.
    fn by_kind(&self) -> impl Iterator<Item = (ClientKind, u16)> {
        [
            (ClientKind::Json, self.json),
            (ClientKind::Navigation, self.navigation),
            (ClientKind::Problem, self.problem),
            (ClientKind::Text, self.text),
        ]
        .into_iter()
        .filter_map(|(kind, status)| Some((kind, status?)))
    }
}
