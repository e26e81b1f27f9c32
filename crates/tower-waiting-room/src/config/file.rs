//! The format of a configuration file.
//!
//! A file is deserialized into the structures of this module, and every value is then passed to the
//! builder. A file therefore has the same effect as code with the same values, and is rejected with
//! the same errors. An absent field leaves the default of the builder in place, except that `rate_limits`
//! have the defaults of a rules file, whose `missing_key` is `bypass`.
//!
//! - Unknown fields are rejected, because otherwise a misspelled field would silently have no
//!   effect.
//! - Durations are written as `5m`, `90s` or `1m 30s`.
//! - Variant names are in `snake_case`.
//! - The settings of the room are those that `RoomRules::SETTINGS` declares.
//!
//! `docs/configuration-file.schema.json` states the meaning, the bounds and the default of each
//! field. A test compares the schema with these structures. Fields have the same names as in
//! Cloudflare Waiting Room if that product has the same feature. Stores and closures cannot be
//! configured in a file. The store of the room is passed to the layer. Everything else that a file
//! cannot contain is added with [`WaitingRoomConfig::into_builder`].

mod bypass;
mod client_ip;
mod events;
mod gates;
mod page;
mod room;
mod settings;

use std::{path::PathBuf, time::Duration};

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

pub(super) use self::settings::WithSettings;
use self::{
    bypass::BypassRule,
    client_ip::ClientIpFile,
    events::EventFile,
    gates::ConcurrencyFile,
    page::PageFile,
    room::{PushFile, StatusFile, key_ring},
    settings::with,
};
use super::{DebugHeader, Enforcement, Preflight, WaitingRoomConfig, WaitingRoomConfigBuilder};
use crate::{
    rate_headers::RateHeaders, respond::JsonProfile, rules_file::Descriptors, token::CookieSettings,
};

/// The fields at the root of a configuration file, without the settings of the room.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    name: String,
    #[serde(default)]
    events: Vec<WithSettings<EventFile>>,
    #[serde(default)]
    rate_limits: Descriptors,
    rate_limits_file: Option<PathBuf>,
    rate_headers: Option<RateHeaders>,
    client_ip: Option<ClientIpFile>,
    max_held_requests: Option<usize>,
    #[serde(default)]
    concurrency: Vec<ConcurrencyFile>,
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    cookie: CookieSettings,
    #[serde(default)]
    bypass: Vec<BypassRule>,
    #[serde(default)]
    preflight: Preflight,
    page: Option<PageFile>,
    mustache_page: Option<String>,
    #[serde(default)]
    status: StatusFile,
    #[serde(default)]
    json_profile: JsonProfile,
    #[serde(default, with = "friendly")]
    grace: Option<Duration>,
    leave_path: Option<String>,
    transfer_path: Option<String>,
    push: Option<PushFile>,
    #[serde(default)]
    enforcement: Enforcement,
    #[serde(default)]
    debug_header: DebugHeader,
}

impl TryFrom<WithSettings<ConfigFile>> for WaitingRoomConfig {
    type Error = ConfigError;

    /// Applies every given field to a builder, and builds the configuration.
    fn try_from(file: WithSettings<ConfigFile>) -> Result<Self, ConfigError> {
        let WithSettings { settings, fields: file } = file;
        let mut builder = Self::builder(file.name)
            .preflight(file.preflight)
            .enforcement(file.enforcement)
            .debug_header(file.debug_header);
        for limit in file.rate_limits.0 {
            builder = builder.rate_limit(limit);
        }
        builder = with(builder, file.rate_limits_file, |to, path| to.rate_limits_file(path));
        builder = with(builder, file.rate_headers, |to, headers| to.rate_headers(headers));
        builder = with(builder, file.max_held_requests, |to, held| to.max_held_requests(held));
        if let Some(client_ip) = file.client_ip {
            builder = builder.client_ip(client_ip.client_ip()?);
        }
        for gate in file.concurrency {
            builder = builder.concurrency(gate.concurrency()?);
        }
        for (setting, value) in &settings {
            builder = builder.setting(setting, value)?;
        }
        builder = builder.cookie(file.cookie).json_profile(file.json_profile);
        if let Some(keys) = key_ring(&file.keys)? {
            builder = builder.keys(keys);
        }
        builder = with(builder, file.grace, |to, span| to.grace(span));
        builder = with(builder, file.leave_path, WaitingRoomConfigBuilder::leave_path);
        builder = with(builder, file.transfer_path, WaitingRoomConfigBuilder::transfer_path);
        builder = with(builder, file.push, |to, push| to.push(push.options()));
        builder = file.status.apply(builder)?;
        for event in file.events {
            builder = event.apply(builder)?;
        }
        if let Some(template) = &file.mustache_page {
            if file.page.is_some() {
                let given = "given, as is page";
                let expected = "only one of the two";
                let kind = ConfigErrorKind::Contradicts;
                return Err(ConfigError::new(kind, "mustache_page", given, expected));
            }
            builder = builder.page(crate::respond::Page::mustache(template)?);
        }
        if let Some(page) = file.page {
            builder = builder.page(page.page()?);
        }
        for rule in file.bypass {
            builder = builder.bypass(rule.bypass()?);
        }
        builder.build()
    }
}
