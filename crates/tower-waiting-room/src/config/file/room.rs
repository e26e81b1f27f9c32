//! The room in a configuration file: its rules, keys and cookie, and the statuses of its answers.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError,
    error::ConfigErrorKind,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
};

use super::rates::with;
use crate::{
    config::WaitingRoomConfigBuilder,
    request::ClientKind,
    token::{CookieSettings, KeyRing, SameSite, TokenKey},
};

/// The fields of a configuration file that concern the room, under their names in the file.
pub(super) struct RoomFields {
    pub(super) total_active_users: Option<u32>,
    pub(super) new_users_per_minute: Option<u32>,
    pub(super) session_duration: Option<Duration>,
    pub(super) disable_session_renewal: Option<bool>,
    pub(super) queueing_method: Option<MethodName>,
    pub(super) mode: Option<ModeName>,
    pub(super) line_capacity: Option<u32>,
    pub(super) places_per_network: Option<PlacesFile>,
    pub(super) place_retention: Option<Duration>,
    pub(super) refresh_interval: Option<Duration>,
    pub(super) cookie_test: Option<u8>,
    pub(super) recovery: Option<RecoveryName>,
    pub(super) longest_session_duration: Option<Duration>,
    pub(super) keys: Vec<String>,
    pub(super) cookie: CookieFile,
    pub(super) status: StatusFile,
}

/// The names of the [`QueueingMethod`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MethodName {
    /// In order of arrival.
    Fifo,
    /// Without waiting: the limits are counted, but do not apply.
    Passthrough,
    /// By lot among the visitors who wait. Each draws a new lot at its first check-in of a minute.
    Random,
    /// Visitors who find the room full are refused instead of waiting.
    Reject,
}

/// The names of the [`RoomMode`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModeName {
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
pub(super) enum RecoveryName {
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
pub(super) enum PlacesFile {
    Limit(u32),
    Other(OtherPlaces),
}

/// The forms that are not a bare number.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OtherPlaces {
    /// One network may hold all places of the line.
    Off,
    /// The same, but visitors over this number are reported.
    Shadow(u32),
}

/// The settings of the cookie. An absent field has the default of [`CookieSettings`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CookieFile {
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

/// The HTTP statuses of answers to clients that wait, by the kind of the client.
///
/// Each of them is 200, 202, 429 or 503. There is no field for gRPC, whose HTTP status is always
/// 200.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusFile {
    /// For programs that accept JSON: 429 by default.
    json: Option<u16>,
    /// For browsers that show a page: 503 by default.
    navigation: Option<u16>,
    /// For programs that accept a problem document (RFC 9457): 429 by default.
    problem: Option<u16>,
    /// For clients that get plain text: 429 by default.
    text: Option<u16>,
}

impl RoomFields {
    /// Applies every field that is given to a builder.
    ///
    /// # Errors
    ///
    /// If a key cannot be read, or a status is not one of HTTP. Everything else is checked when the
    /// configuration is built.
    pub(super) fn apply(
        self,
        mut builder: WaitingRoomConfigBuilder,
    ) -> Result<WaitingRoomConfigBuilder, ConfigError> {
        builder = builder
            .new_users_per_minute(self.new_users_per_minute)
            .longest_session_duration(self.longest_session_duration)
            .cookie(self.cookie.settings());
        builder = with(builder, self.total_active_users, |to, users| to.total_active_users(users));
        builder = with(builder, self.session_duration, |to, span| to.session_duration(span));
        builder = with(builder, self.line_capacity, |to, places| to.line_capacity(places));
        builder = with(builder, self.places_per_network, |to, places| {
            to.places_per_network(places.into())
        });
        builder = with(builder, self.place_retention, |to, span| to.place_retention(span));
        builder = with(builder, self.refresh_interval, |to, span| to.refresh_interval(span));
        builder = with(builder, self.queueing_method, |to, name| to.queueing_method(name.into()));
        builder = with(builder, self.mode, |to, name| to.mode(name.into()));
        builder = with(builder, self.recovery, |to, name| to.recovery(name.into()));
        builder = with(builder, self.cookie_test, |to, percent| {
            to.cookie_test(CookieTest::AboveUtilization(percent))
        });
        // `false` is the default of the builder, so only `true` changes anything.
        if self.disable_session_renewal == Some(true) {
            builder = builder.session_renewal(SessionRenewal::Fixed);
        }
        if let Some(keys) = key_ring(&self.keys)? {
            builder = builder.keys(keys);
        }
        for (kind, status) in self.status.by_kind() {
            let status = StatusCode::from_u16(status).map_err(|_| {
                ConfigError::new(ConfigErrorKind::Malformed, "status", status, "an HTTP status")
            })?;
            builder = builder.status(kind, status);
        }
        Ok(builder)
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
