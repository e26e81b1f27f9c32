//! The format of a configuration in a file.
//!
//! The file is read into these structures, and every value then goes through the builder. A file
//! and code therefore mean the same and are refused with the same errors. A field that is absent
//! leaves the default of the builder in place.
//!
//! - Unknown fields are refused, since a misspelled field would silently have no effect.
//! - Durations are written as `5m`, `90s` or `1m 30s`.
//! - Names of variants are in `snake_case`.
//!
//! The names of the fields are those that Cloudflare's product gave to them, where it has the
//! feature. Stores, closures and partitioned cookies cannot be configured in a file. The store of
//! the room is passed to the layer; everything else is added by
//! [`WaitingRoomConfig::into_builder`].

mod gates;
mod rates;
#[cfg(feature = "room")]
mod room;

#[cfg(feature = "room")]
use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::ConfigError;

#[cfg(feature = "room")]
use self::room::{
    CookieFile, MethodName, ModeName, PlacesFile, RecoveryName, RoomFields, StatusFile,
};
use self::{
    gates::ConcurrencyFile,
    rates::{ClientIpFile, RateLimitFile, Rates, method},
};
use super::{DebugHeader, Enforcement, Preflight, WaitingRoomConfig};
use crate::{rate_headers::RateHeaders, request::Bypass};

/// The root of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    /// The name of the layer and of its room: letters, digits, `-` and `_`. Required.
    name: String,
    /// The maximum number of active visitors. Without it, the layer has no room, and needs a rate
    /// limit or a gate.
    #[cfg(feature = "room")]
    total_active_users: Option<u32>,
    /// The maximum number of visitors who are admitted within any 60 s. Unlimited if absent.
    #[cfg(feature = "room")]
    new_users_per_minute: Option<u32>,
    /// How long a session lasts after its last request: `5m` by default.
    #[cfg(feature = "room")]
    #[serde(default, with = "friendly")]
    session_duration: Option<std::time::Duration>,
    /// If true, requests do not prolong a session: it ends `session_duration` after it began. False
    /// by default.
    #[cfg(feature = "room")]
    disable_session_renewal: Option<bool>,
    /// The order in which visitors are admitted: `fifo` by default.
    #[cfg(feature = "room")]
    queueing_method: Option<MethodName>,
    /// The mode in which the room starts: `auto` by default.
    #[cfg(feature = "room")]
    mode: Option<ModeName>,
    /// The maximum number of places in the line: 100 000 by default.
    #[cfg(feature = "room")]
    line_capacity: Option<u32>,
    /// The maximum number of places for one network: 1 000 by default.
    #[cfg(feature = "room")]
    places_per_network: Option<PlacesFile>,
    /// How long a place outlives the last check-in: `5m` by default.
    #[cfg(feature = "room")]
    #[serde(default, with = "friendly")]
    place_retention: Option<std::time::Duration>,
    /// The longest time between two check-ins: `20s` by default.
    #[cfg(feature = "room")]
    #[serde(default, with = "friendly")]
    refresh_interval: Option<std::time::Duration>,
    /// The utilization of the slots, in percent, from which on newcomers must return a cookie
    /// before they get a slot. There is no test if absent.
    #[cfg(feature = "room")]
    cookie_test: Option<u8>,
    /// How a room starts after it has lost its state: `admit_at_once` by default. `pause` requires
    /// `keys`.
    #[cfg(feature = "room")]
    recovery: Option<RecoveryName>,
    /// The longest `session_duration` of earlier releases whose passes may still be in use. Only
    /// `pause` needs it; none by default.
    #[cfg(feature = "room")]
    #[serde(default, with = "friendly")]
    longest_session_duration: Option<std::time::Duration>,
    /// Rate limits, in addition to those of `rate_limits_file` and of code.
    #[serde(default)]
    rate_limits: Vec<RateLimitFile>,
    /// The path of a rules file, which may change while the service runs. A relative path starts at
    /// the working directory of the process.
    #[cfg(feature = "rules-file")]
    rate_limits_file: Option<std::path::PathBuf>,
    /// The headers that report limits to clients: `common` by default.
    rate_headers: Option<RateHeaders>,
    /// Where the address of a client is read from: the connection by default.
    client_ip: Option<ClientIpFile>,
    /// The maximum number of requests in all leaky queues together: 10 000 by default.
    max_held_requests: Option<usize>,
    /// Gates: limits on the number of requests that run at once.
    #[serde(default)]
    concurrency: Vec<ConcurrencyFile>,
    /// Keys in base64. The first one seals, and all of them open. Without any, the layer generates
    /// a key at start-up, which no other process and no later start has.
    #[cfg(feature = "room")]
    #[serde(default)]
    keys: Vec<String>,
    /// The cookie that carries a token.
    #[cfg(feature = "room")]
    #[serde(default)]
    cookie: CookieFile,
    /// Rules for requests that skip the whole layer. The first rule that covers a request counts.
    #[serde(default)]
    bypass: Vec<BypassRule>,
    /// The stages that a CORS preflight passes: `skip_room` by default.
    #[serde(default)]
    preflight: Preflight,
    /// The source of a template (not a path) that replaces the default page.
    #[cfg(feature = "page")]
    page: Option<String>,
    /// The statuses of answers to clients that wait.
    #[cfg(feature = "room")]
    #[serde(default)]
    status: StatusFile,
    /// Whether verdicts take effect: `enforce` by default, or `shadow`.
    #[serde(default)]
    enforcement: Enforcement,
    /// Whether responses state the reason for their verdict: `off` by default.
    #[serde(default)]
    debug_header: DebugHeader,
}

/// A bypass rule: a name and exactly one test, such as
/// `{ "name": "health", "path": "/healthz" }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BypassRule {
    /// The name, which is reported as `bypass:<name>`.
    name: String,
    #[serde(flatten)]
    test: RuleTest,
}

/// The test of a bypass rule. See the methods of [`Bypass`] for what each of them covers.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleTest {
    /// The name of a cookie that must be present, whatever its value.
    Cookie(String),
    /// `name` for a header that must be present, or `name: value` for one with exactly this value.
    Header(String),
    /// A host without its port.
    Host(String),
    /// A method. Methods are case-sensitive (RFC 9110 section 9.1).
    Method(String),
    /// An address, or a network such as `203.0.113.0/24`.
    Network(String),
    /// A path without a query.
    Path(String),
    /// The beginning of a path.
    PathPrefix(String),
}

impl TryFrom<ConfigFile> for WaitingRoomConfig {
    type Error = ConfigError;

    /// Applies every field that is given to a builder, and builds the configuration.
    fn try_from(file: ConfigFile) -> Result<Self, ConfigError> {
        let mut builder = Self::builder(file.name)
            .preflight(file.preflight)
            .enforcement(file.enforcement)
            .debug_header(file.debug_header);
        let rates = Rates {
            limits: file.rate_limits,
            #[cfg(feature = "rules-file")]
            file: file.rate_limits_file,
            headers: file.rate_headers,
            client_ip: file.client_ip,
            max_held: file.max_held_requests,
        };
        builder = rates.apply(builder)?;
        for gate in file.concurrency {
            builder = builder.concurrency(gate.concurrency()?);
        }
        #[cfg(feature = "room")]
        {
            let room = RoomFields {
                total_active_users: file.total_active_users,
                new_users_per_minute: file.new_users_per_minute,
                session_duration: file.session_duration,
                disable_session_renewal: file.disable_session_renewal,
                queueing_method: file.queueing_method,
                mode: file.mode,
                line_capacity: file.line_capacity,
                places_per_network: file.places_per_network,
                place_retention: file.place_retention,
                refresh_interval: file.refresh_interval,
                cookie_test: file.cookie_test,
                recovery: file.recovery,
                longest_session_duration: file.longest_session_duration,
                keys: file.keys,
                cookie: file.cookie,
                status: file.status,
            };
            builder = room.apply(builder)?;
        }
        #[cfg(feature = "page")]
        if let Some(template) = &file.page {
            builder = builder.page(crate::respond::Page::template(template)?);
        }
        for rule in file.bypass {
            builder = builder.bypass(rule.bypass()?);
        }
        builder.build()
    }
}

impl BypassRule {
    /// Turns the rule into one of the builder.
    ///
    /// # Errors
    ///
    /// If the method is not a method. All other tests are checked by the builder.
    fn bypass(self) -> Result<Bypass, ConfigError> {
        let Self { name, test } = self;
        Ok(match test {
            RuleTest::Cookie(cookie) => Bypass::cookie(name, cookie),
            RuleTest::Header(header) => match header.split_once(':') {
                Some((header, value)) => Bypass::header(name, header.trim(), value.trim()),
                None => Bypass::header(name, header, None),
            },
            RuleTest::Host(host) => Bypass::host(name, host),
            RuleTest::Network(network) => Bypass::network(name, network),
            RuleTest::Path(path) => Bypass::path(name, path),
            RuleTest::PathPrefix(prefix) => Bypass::path_prefix(name, prefix),
            RuleTest::Method(text) => {
                let method = method("bypass", &name, &text)?;
                Bypass::method(name, method)
            }
        })
    }
}
