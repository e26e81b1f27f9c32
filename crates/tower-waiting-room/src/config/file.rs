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

use std::time::Duration;

use http::StatusCode;
use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError,
    error::ConfigErrorKind,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
};

use self::{
    gates::ConcurrencyFile,
    rates::{ClientIpFile, RateLimitFile, Rates, method, with},
};
use super::{DebugHeader, Enforcement, Preflight, WaitingRoomConfig};
use crate::{
    rate_headers::RateHeaders,
    request::{Bypass, ClientKind},
    token::{CookieSettings, KeyRing, SameSite, TokenKey},
};

/// The root of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    /// The name of the layer and of its room: letters, digits, `-` and `_`. Required.
    name: String,
    /// The maximum number of active visitors. Without it, the layer has no room, and needs a rate
    /// limit or a gate.
    total_active_users: Option<u32>,
    /// The maximum number of visitors who are admitted within any 60 s. Unlimited if absent.
    new_users_per_minute: Option<u32>,
    /// How long a session lasts after its last request: `5m` by default.
    #[serde(default, with = "friendly")]
    session_duration: Option<Duration>,
    /// If true, requests do not prolong a session: it ends `session_duration` after it began. False
    /// by default.
    disable_session_renewal: Option<bool>,
    /// The order in which visitors are admitted: `fifo` by default.
    queueing_method: Option<MethodName>,
    /// The mode in which the room starts: `auto` by default.
    mode: Option<ModeName>,
    /// The maximum number of places in the line: 100 000 by default.
    line_capacity: Option<u32>,
    /// The maximum number of places for one network: 1 000 by default.
    places_per_network: Option<PlacesFile>,
    /// How long a place outlives the last check-in: `5m` by default.
    #[serde(default, with = "friendly")]
    place_retention: Option<Duration>,
    /// The longest time between two check-ins: `20s` by default.
    #[serde(default, with = "friendly")]
    refresh_interval: Option<Duration>,
    /// The utilization of the slots, in percent, from which on newcomers must return a cookie
    /// before they get a slot. There is no test if absent.
    cookie_test: Option<u8>,
    /// How a room starts after it has lost its state: `admit_at_once` by default. `pause` requires
    /// `keys`.
    recovery: Option<RecoveryName>,
    /// The longest `session_duration` of earlier releases whose passes may still be in use. Only
    /// `pause` needs it; none by default.
    #[serde(default, with = "friendly")]
    longest_session_duration: Option<Duration>,
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
    #[serde(default)]
    keys: Vec<String>,
    /// The cookie that carries a token.
    #[serde(default)]
    cookie: CookieFile,
    /// Rules for requests that skip the whole layer. The first rule that covers a request counts.
    #[serde(default)]
    bypass: Vec<Rule>,
    /// The stages that a CORS preflight passes: `skip_room` by default.
    #[serde(default)]
    preflight: Preflight,
    /// The source of a template (not a path) that replaces the default page.
    #[cfg(feature = "page")]
    page: Option<String>,
    /// The statuses of answers to clients that wait.
    #[serde(default)]
    status: StatusFile,
    /// Whether verdicts take effect: `enforce` by default, or `shadow`.
    #[serde(default)]
    enforcement: Enforcement,
    /// Whether responses state the reason for their verdict: `off` by default.
    #[serde(default)]
    debug_header: DebugHeader,
}

/// The names of the [`QueueingMethod`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MethodName {
    /// In order of arrival.
    Fifo,
    /// Without waiting: the limits are counted, but do not apply.
    Passthrough,
    /// By lot among the visitors who wait, drawn again every minute.
    Random,
    /// Visitors who find the room full are refused instead of waiting.
    Reject,
}

/// The names of the [`RoomMode`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeName {
    /// The limits decide.
    Auto,
    /// Visitors with a place are served, but no visitor joins the line.
    Drain,
    /// No visitor is admitted; sessions go on.
    QueueAll,
    /// Requests pass the room uncounted. Rate limits and gates stay in force.
    Suspended,
}

/// The names of the kinds of [`Recovery`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecoveryName {
    /// New visitors are admitted at once, so the limit can be exceeded until earlier passes expire.
    AdmitAtOnce,
    /// No newcomers are admitted for as long as earlier passes may be in use.
    Pause,
}

/// `1000`, `{ "shadow": 1000 }` or `"off"`.
///
/// The usual case is a bare number. Untagged enums report nothing but that no variant matched, so
/// the message lists the forms.
#[derive(Deserialize)]
#[serde(untagged, expecting = "places_per_network is a number, { \"shadow\": number } or \"off\"")]
enum PlacesFile {
    Limit(u32),
    Other(OtherPlaces),
}

/// The forms that are not a bare number.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OtherPlaces {
    /// One network may hold all places of the line.
    Off,
    /// The same, but visitors over this number are reported.
    Shadow(u32),
}

/// The settings of the cookie. An absent field has the default of [`CookieSettings`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CookieFile {
    /// The full name, including its prefix: `__Host-wr-<room>` by default.
    name: Option<String>,
    /// A domain whose hosts share the room. By default, the cookie belongs to one host.
    domain: Option<String>,
    /// The path below which the cookie is sent: `/` by default.
    path: Option<String>,
    /// The requests from other sites that carry the cookie: `lax` by default.
    same_site: Option<SameSiteName>,
    /// If true, the cookie is also sent over plain HTTP. For development only; false by default.
    insecure: Option<bool>,
}

/// The names of the [`SameSite`] settings.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SameSiteName {
    Lax,
    None,
    Strict,
}

/// A bypass rule: a name and exactly one test, such as
/// `{ "name": "health", "path": "/healthz" }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
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

/// The HTTP statuses of answers to clients that wait, by the kind of the client.
///
/// Each of them is 200, 202, 429 or 503. There is no field for gRPC, whose HTTP status is always
/// 200.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusFile {
    /// For programs that accept JSON: 429 by default.
    json: Option<u16>,
    /// For browsers that show a page: 503 by default.
    navigation: Option<u16>,
    /// For programs that accept a problem document (RFC 9457): 429 by default.
    problem: Option<u16>,
    /// For clients that get plain text: 429 by default.
    text: Option<u16>,
}

impl TryFrom<ConfigFile> for WaitingRoomConfig {
    type Error = ConfigError;

    /// Applies every field that is given to a builder, and builds the configuration.
    fn try_from(file: ConfigFile) -> Result<Self, ConfigError> {
        let mut builder = Self::builder(file.name)
            .new_users_per_minute(file.new_users_per_minute)
            .longest_session_duration(file.longest_session_duration)
            .cookie(file.cookie.settings())
            .preflight(file.preflight)
            .enforcement(file.enforcement)
            .debug_header(file.debug_header);
        builder = with(builder, file.total_active_users, |to, users| to.total_active_users(users));
        builder = with(builder, file.session_duration, |to, span| to.session_duration(span));
        builder = with(builder, file.line_capacity, |to, places| to.line_capacity(places));
        builder = with(builder, file.places_per_network, |to, places| {
            to.places_per_network(places.into())
        });
        builder = with(builder, file.place_retention, |to, span| to.place_retention(span));
        builder = with(builder, file.refresh_interval, |to, span| to.refresh_interval(span));
        builder = with(builder, file.queueing_method, |to, name| to.queueing_method(name.into()));
        builder = with(builder, file.mode, |to, name| to.mode(name.into()));
        builder = with(builder, file.recovery, |to, name| to.recovery(name.into()));
        builder = with(builder, file.cookie_test, |to, percent| {
            to.cookie_test(CookieTest::AboveUtilization(percent))
        });
        // `false` is the default of the builder, so only `true` changes anything.
        if file.disable_session_renewal == Some(true) {
            builder = builder.session_renewal(SessionRenewal::Fixed);
        }
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
        if let Some(keys) = key_ring(&file.keys)? {
            builder = builder.keys(keys);
        }
        #[cfg(feature = "page")]
        if let Some(template) = &file.page {
            builder = builder.page(crate::respond::Page::template(template)?);
        }
        for rule in file.bypass {
            builder = builder.bypass(rule.bypass()?);
        }
        for (kind, status) in file.status.by_kind() {
            let status = StatusCode::from_u16(status).map_err(|_| {
                ConfigError::new(ConfigErrorKind::Malformed, "status", status, "an HTTP status")
            })?;
            builder = builder.status(kind, status);
        }
        builder.build()
    }
}

/// Reads the keys of a ring; `None` if there are none.
fn key_ring(keys: &[String]) -> Result<Option<KeyRing>, ConfigError> {
    let Some((sealing, older)) = keys.split_first() else { return Ok(None) };
    let mut ring = KeyRing::new(TokenKey::from_base64(sealing)?);
    for key in older {
        ring = ring.also_opens(TokenKey::from_base64(key)?);
    }
    Ok(Some(ring))
}

impl CookieFile {
    /// Applies every field that is given to the default settings.
    fn settings(self) -> CookieSettings {
        let mut cookie = CookieSettings::default();
        if self.insecure == Some(true) {
            cookie = cookie.insecure();
        }
        cookie = with(cookie, self.name, |to, name| to.name(name));
        cookie = with(cookie, self.domain, |to, domain| to.domain(domain));
        cookie = with(cookie, self.path, |to, path| to.path(path));
        with(cookie, self.same_site, |to, same_site| to.same_site(same_site.into()))
    }
}

impl Rule {
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

impl StatusFile {
    /// Returns the statuses that are given, each with the kind of client that gets it.
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

impl From<MethodName> for QueueingMethod {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::Fifo => Self::Fifo,
            MethodName::Passthrough => Self::Passthrough,
            MethodName::Random => Self::Random,
            MethodName::Reject => Self::Reject,
        }
    }
}

impl From<ModeName> for RoomMode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Auto => Self::Auto,
            ModeName::Drain => Self::Drain,
            ModeName::QueueAll => Self::QueueAll,
            ModeName::Suspended => Self::Suspended,
        }
    }
}

impl From<PlacesFile> for PlacesPerNetwork {
    fn from(places: PlacesFile) -> Self {
        match places {
            PlacesFile::Limit(places) => Self::Limit(places),
            PlacesFile::Other(OtherPlaces::Off) => Self::Off,
            PlacesFile::Other(OtherPlaces::Shadow(places)) => Self::Shadow(places),
        }
    }
}

impl From<RecoveryName> for Recovery {
    fn from(name: RecoveryName) -> Self {
        match name {
            RecoveryName::AdmitAtOnce => Self::AdmitAtOnce,
            RecoveryName::Pause => Self::Pause,
        }
    }
}

impl From<SameSiteName> for SameSite {
    fn from(name: SameSiteName) -> Self {
        match name {
            SameSiteName::Lax => Self::Lax,
            SameSiteName::None => Self::None,
            SameSiteName::Strict => Self::Strict,
        }
    }
}
