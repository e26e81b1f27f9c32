//! The form of a configuration in a file.
//!
//! Everything goes through the builder, so that a file and code mean the same and fail the same.
//! Durations are written as `5m`, `90s` or `1m 30s`, names in `snake_case`.

mod gates;
mod rates;

use std::{path::PathBuf, time::Duration};

use http::StatusCode;
use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError, ConfigErrorKind, CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode,
    SessionRenewal,
};

use self::{
    gates::ConcurrencyFile,
    rates::{ClientIpFile, RateLimitFile, Rates, method, with},
};
use super::{DebugHeader, Enforcement, Preflight, WaitingRoomConfig};
use crate::{
    rate_headers::RateHeaders,
    request::{Bypass, ClientKind},
    respond::Page,
    token::{CookieSettings, KeyRing, SameSite, TokenKey},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    name: String,
    total_active_users: Option<u32>,
    new_users_per_minute: Option<u32>,
    #[serde(default, with = "friendly")]
    session_duration: Option<Duration>,
    disable_session_renewal: Option<bool>,
    queueing_method: Option<MethodName>,
    mode: Option<ModeName>,
    line_capacity: Option<u32>,
    places_per_network: Option<PlacesFile>,
    #[serde(default, with = "friendly")]
    place_retention: Option<Duration>,
    #[serde(default, with = "friendly")]
    refresh_interval: Option<Duration>,
    /// The utilization, in percent, from which on the test is made.
    cookie_test: Option<u8>,
    recovery: Option<RecoveryName>,
    #[serde(default, with = "friendly")]
    longest_session_duration: Option<Duration>,
    #[serde(default)]
    rate_limits: Vec<RateLimitFile>,
    rate_limits_file: Option<PathBuf>,
    rate_headers: Option<RateHeaders>,
    client_ip: Option<ClientIpFile>,
    max_held_requests: Option<usize>,
    #[serde(default)]
    concurrency: Vec<ConcurrencyFile>,
    /// Base64; the first seals, all open.
    #[serde(default)]
    keys: Vec<String>,
    #[serde(default)]
    cookie: CookieFile,
    #[serde(default)]
    bypass: Vec<Rule>,
    #[serde(default)]
    preflight: Preflight,
    /// A template in the place of the default page.
    page: Option<String>,
    #[serde(default)]
    status: StatusFile,
    #[serde(default)]
    enforcement: Enforcement,
    #[serde(default)]
    debug_header: DebugHeader,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MethodName {
    Fifo,
    Passthrough,
    Random,
    Reject,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeName {
    Auto,
    Drain,
    QueueAll,
    Suspended,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecoveryName {
    AdmitAtOnce,
    Pause,
}

/// `1000`, `{ "shadow": 1000 }` or `"off"`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "places_per_network is a number, { \"shadow\": number } or \"off\"")]
enum PlacesFile {
    Limit(u32),
    Other(OtherPlaces),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OtherPlaces {
    Off,
    Shadow(u32),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CookieFile {
    name: Option<String>,
    domain: Option<String>,
    path: Option<String>,
    same_site: Option<SameSiteName>,
    /// Sent over plain HTTP too. For development.
    insecure: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SameSiteName {
    Lax,
    None,
    Strict,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    #[serde(flatten)]
    test: RuleTest,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleTest {
    Cookie(String),
    /// `name`, or `name: value`.
    Header(String),
    Host(String),
    Method(String),
    Network(String),
    Path(String),
    PathPrefix(String),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusFile {
    json: Option<u16>,
    navigation: Option<u16>,
    problem: Option<u16>,
    text: Option<u16>,
}

impl TryFrom<ConfigFile> for WaitingRoomConfig {
    type Error = ConfigError;

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
        if file.disable_session_renewal == Some(true) {
            builder = builder.session_renewal(SessionRenewal::Fixed);
        }
        let rates = Rates {
            limits: file.rate_limits,
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
        if let Some(template) = &file.page {
            builder = builder.page(Page::template(template)?);
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

fn key_ring(keys: &[String]) -> Result<Option<KeyRing>, ConfigError> {
    let Some((sealing, older)) = keys.split_first() else { return Ok(None) };
    let mut ring = KeyRing::new(TokenKey::from_base64(sealing)?);
    for key in older {
        ring = ring.also_opens(TokenKey::from_base64(key)?);
    }
    Ok(Some(ring))
}

impl CookieFile {
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
