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
//! Fields have the same names as in Cloudflare Waiting Room, if that product has the feature.
//! Stores and closures cannot be configured in a file. The store of the room is passed to the layer.
//! Everything else that a file cannot contain is added with
//! [`WaitingRoomConfig::into_builder`].

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

/// The fields at the root of a configuration file, besides the settings of the room.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    /// The name of the layer and of its room, which may contain only letters, digits, `-` and `_`.
    /// This field is required.
    name: String,
    /// The scheduled events of the room.
    #[serde(default)]
    events: Vec<WithSettings<EventFile>>,
    /// Rate limits, in addition to those in `rate_limits_file` and those added in code. They have the
    /// form of the descriptors in a rules file.
    #[serde(default)]
    rate_limits: Descriptors,
    /// The path of a rules file, which may change while the service runs. A relative path is
    /// resolved against the working directory of the process.
    rate_limits_file: Option<PathBuf>,
    /// The headers that report limits to clients. The default is `common`.
    rate_headers: Option<RateHeaders>,
    /// The source of a client's address. By default, the address of the connection is used.
    client_ip: Option<ClientIpFile>,
    /// The maximum number of requests that all leaky queues together may delay at the same time.
    /// The default is 10 000.
    max_held_requests: Option<usize>,
    /// Gates: limits on the number of requests that run at once.
    #[serde(default)]
    concurrency: Vec<ConcurrencyFile>,
    /// The keys for tokens, in base64. The first key seals tokens, and all keys open them. If no
    /// keys are given, the layer generates a key at start-up. A generated key is unknown to all
    /// other processes and is lost on a restart.
    #[serde(default)]
    keys: Vec<String>,
    /// The cookie that carries a token.
    #[serde(default)]
    cookie: CookieSettings,
    /// Rules for requests that skip the whole layer. The first rule that covers a request applies.
    #[serde(default)]
    bypass: Vec<BypassRule>,
    /// The stages that a CORS preflight goes through. The default is `skip_room`.
    #[serde(default)]
    preflight: Preflight,
    /// The page: the source text (not the path) of a template that replaces the default page, or
    /// its settings.
    page: Option<PageFile>,
    /// The source text of a Mustache template of Cloudflare Waiting Room, instead of `page`.
    mustache_page: Option<String>,
    /// The statuses of answers to waiting clients.
    #[serde(default)]
    status: StatusFile,
    /// The objects that JSON answers about the room contain, either `compact` (the default) or
    /// `cloudflare`.
    #[serde(default)]
    json_profile: JsonProfile,
    /// The time for which a visitor whose session has lapsed may return ahead of the line. By
    /// default, such a visitor begins at the back of the line.
    #[serde(default, with = "friendly")]
    grace: Option<Duration>,
    /// The path to which visitors send a POST to leave. By default, they cannot.
    leave_path: Option<String>,
    /// The path of links with which a waiting visitor continues on another device. By default, there
    /// are none.
    transfer_path: Option<String>,
    /// The path of the streams over which waiting visitors get their position and their turn, and
    /// the bounds of the streams. By default, visitors poll.
    push: Option<PushFile>,
    /// Whether verdicts take effect, either `enforce` (the default) or `shadow`.
    #[serde(default)]
    enforcement: Enforcement,
    /// Whether responses state the reason for their verdict. The default is `off`.
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
