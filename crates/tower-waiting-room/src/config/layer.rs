//! The validated configuration of a layer.

use std::sync::Arc;

use waiting_room_core::{RoomRules, room::event::Schedule};

use super::modes::{DebugHeader, Enforcement, Preflight};
#[cfg(feature = "room")]
use crate::room::RoomOptions;
use crate::{
    gate::Concurrency,
    rate::{RateConfig, RulesSource},
    request::Bypass,
    respond::{JsonProfile, Page, Shapes, Statuses},
};

/// A validated configuration of one layer.
///
/// ```
/// use std::time::Duration;
/// use tower_waiting_room::WaitingRoomConfig;
///
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .new_users_per_minute(200)
///     .session_duration(Duration::from_secs(300))
///     .build()?;
///
/// let error = WaitingRoomConfig::builder("shop").total_active_users(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "total_active_users is 0, expected at least 1");
/// # let _ = config;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
///
/// With the features `files` and `room`, a configuration can also come from a file, in which unknown
/// fields are rejected. The repository's `docs/configuration-file.md` lists all fields. Here the file
/// is in JSON:
///
/// ```
/// # use tower_waiting_room::WaitingRoomConfig;
/// let config: WaitingRoomConfig = serde_json::from_str(
///     r#"{ "name": "shop", "total_active_users": 200, "session_duration": "5m" }"#,
/// )?;
/// # let _ = config;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(all(feature = "files", feature = "room"), derive(serde::Deserialize))]
#[cfg_attr(
    all(feature = "files", feature = "room"),
    serde(try_from = "super::file::WithSettings<super::file::ConfigFile>")
)]
pub struct WaitingRoomConfig {
    /// The name of the layer in metrics and logs, and also the name of its room.
    pub(crate) name: Arc<str>,
    /// The rules of the room; `None` for a layer that has only rate limits and gates.
    pub(crate) room: Option<RoomRules>,
    /// The events of the room, with the seeds of their draws.
    pub(crate) schedule: Schedule,
    pub(crate) rates: RateConfig,
    /// The rules file, if one is configured.
    pub(crate) rules_file: Option<RulesSource>,
    pub(crate) gates: Vec<Concurrency>,
    #[cfg(feature = "room")]
    pub(crate) room_options: RoomOptions,
    pub(crate) bypass: Vec<Bypass>,
    pub(crate) preflight: Preflight,
    pub(crate) page: Page,
    /// The closures with which the application renders answers.
    pub(crate) shapes: Shapes,
    pub(crate) statuses: Statuses,
    pub(crate) json_profile: JsonProfile,
    pub(crate) enforcement: Enforcement,
    pub(crate) debug_header: DebugHeader,
}

#[cfg(feature = "room")]
impl WaitingRoomConfig {
    /// Returns the room's rules, which its store enforces, or `None` for a layer without a room.
    #[must_use]
    pub const fn room(&self) -> Option<&RoomRules> {
        self.room.as_ref()
    }

    /// Returns the events of the room. A store other than the one in memory must be given these
    /// events when it is created, or with [`Store::schedule`](waiting_room_core::Store::schedule).
    #[must_use]
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl WaitingRoomConfig {
    /// Returns whether all requests go through the same stages and no response states its reason.
    pub(crate) fn is_uniform(&self) -> bool {
        self.room.is_none()
            && self.bypass.is_empty()
            && self.preflight != Preflight::Bypass
            && self.debug_header == DebugHeader::Off
    }
}
