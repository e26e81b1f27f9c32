//! The room in a configuration file: its rules, keys and cookie, and the statuses of answers.

use std::time::Duration;

use http::StatusCode;
use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
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
    respond::JsonProfile,
    room::Push,
    token::{CookieSettings, KeyRing, SameSite, TokenKey},
};

/// The fields of a configuration file that concern the room, with the same names as in the file.
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
    pub(super) json_profile: JsonProfile,
    pub(super) grace: Option<Duration>,
    pub(super) leave_path: Option<String>,
    pub(super) transfer_path: Option<String>,
    pub(super) push: Option<PushFile>,
}

/// The names of the [`QueueingMethod`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MethodName {
    /// Visitors are admitted in the order of their arrival.
    Fifo,
    /// Visitors are admitted without waiting. Visitors are counted, but the limits have no effect.
    Passthrough,
    /// Visitors are admitted by lot. Each visitor draws a new lot at its first check-in in each
    /// minute.
    Random,
    /// Visitors who arrive while the room is full are refused instead of waiting.
    Reject,
}

/// The names of the [`RoomMode`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModeName {
    /// Visitors are admitted up to the limits.
    Auto,
    /// Visitors with a place are served, and newcomers cannot join the line.
    Drain,
    /// No visitor is admitted. Existing sessions continue.
    QueueAll,
    /// Requests bypass the room and are not counted. Rate limits and gates stay in effect.
    Suspended,
}

/// The names of the kinds of [`Recovery`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecoveryName {
    /// New visitors are admitted immediately, so the limit can be exceeded until earlier passes
    /// expire.
    AdmitAtOnce,
    /// No newcomers are admitted while passes that were issued earlier may still be in use.
    Pause,
}

/// A limit on places, written as `1000`, `{ "shadow": 1000 }` or `"off"`.
///
/// A bare number is the usual case. For an untagged enum, serde's default error says only that no
/// variant matched, so the `expecting` message lists the accepted forms.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "places_per_network must be a number, { \"shadow\": number } or \"off\""
)]
pub(super) enum PlacesFile {
    Limit(u32),
    Other(OtherPlaces),
}

/// The forms of a limit on places other than a bare number.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OtherPlaces {
    /// A single network may hold all places in the line.
    Off,
    /// A single network may hold all places in the line, but visitors in excess of this number are
    /// reported.
    Shadow(u32),
}

/// The settings of the cookie. An absent field has the same default as in [`CookieSettings`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CookieFile {
    /// The full name of the cookie, including its prefix. The default is `__Host-wr-<room>`.
    name: Option<String>,
    /// A domain whose hosts share the room. By default, only the host that set the cookie receives
    /// it.
    domain: Option<String>,
    /// The path below which the cookie is sent. The default is `/`.
    path: Option<String>,
    /// The attribute that determines which requests from other sites include the cookie. The
    /// default is `lax`.
    same_site: Option<SameSiteName>,
    /// Whether browsers keep a separate cookie for each site that embeds the service in a frame.
    /// This needs `same_site` to be `none`. The default is false.
    partitioned: Option<bool>,
    /// Whether the cookie is also sent over plain HTTP, which is meant for development only. The
    /// default is false.
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

/// The options of push. An absent field has the same default as in [`Push`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PushFile {
    /// The path of the streams. This field is required.
    path: String,
    /// The maximum number of open streams of this node. The default is 10000.
    max_streams: Option<u32>,
    /// The maximum number of open streams of one network. The default is 1000.
    max_streams_per_network: Option<u32>,
    /// The longest time without a sign of life. The default is `15s`.
    #[serde(default, with = "friendly")]
    heartbeat: Option<Duration>,
    /// The time after which a client connects again. The default is `2m`, or half of the place
    /// retention if that is shorter.
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
    /// The status for programs that accept JSON. The default is 429.
    json: Option<u16>,
    /// The status for browsers that show a page. The default is 503.
    navigation: Option<u16>,
    /// The status for programs that accept a problem document (RFC 9457). The default is 429.
    problem: Option<u16>,
    /// The status for clients that get plain text. The default is 429.
    text: Option<u16>,
}

impl RoomFields {
    /// Applies every given field to a builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a key cannot be decoded or a status is not an HTTP status. Everything
    /// else is checked when the configuration is built.
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
        // `false` is the default of the builder, so only `true` has an effect.
        if self.disable_session_renewal == Some(true) {
            builder = builder.session_renewal(SessionRenewal::Fixed);
        }
        if let Some(keys) = key_ring(&self.keys)? {
            builder = builder.keys(keys);
        }
        builder = builder.json_profile(self.json_profile);
        builder = with(builder, self.grace, |to, span| to.grace(span));
        builder = with(builder, self.leave_path, WaitingRoomConfigBuilder::leave_path);
        builder = with(builder, self.transfer_path, WaitingRoomConfigBuilder::transfer_path);
        builder = with(builder, self.push, |to, push| to.push(push.options()));
        for (kind, status) in self.status.by_kind() {
            let status = StatusCode::from_u16(status).map_err(|_| {
                ConfigError::new(ConfigErrorKind::Malformed, "status", status, "an HTTP status")
            })?;
            builder = builder.status(kind, status);
        }
        Ok(builder)
    }
}

/// Decodes the keys of a key ring. Returns `None` if there are no keys.
fn key_ring(keys: &[String]) -> Result<Option<KeyRing>, ConfigError> {
    let Some((sealing, older)) = keys.split_first() else { return Ok(None) };
    let mut ring = KeyRing::new(TokenKey::from_base64(sealing)?);
    for key in older {
        ring = ring.also_opens(TokenKey::from_base64(key)?);
    }
    Ok(Some(ring))
}

impl CookieFile {
    /// Returns the default settings with every given field applied.
    fn settings(self) -> CookieSettings {
        let mut cookie = CookieSettings::default();
        if self.insecure == Some(true) {
            cookie = cookie.insecure();
        }
        if self.partitioned == Some(true) {
            cookie = cookie.partitioned();
        }
        cookie = with(cookie, self.name, |to, name| to.name(name));
        cookie = with(cookie, self.domain, |to, domain| to.domain(domain));
        cookie = with(cookie, self.path, |to, path| to.path(path));
        with(cookie, self.same_site, |to, same_site| to.same_site(same_site.into()))
    }
}

impl PushFile {
    /// Returns the default options with every given field applied.
    fn options(self) -> Push {
        let mut push = Push::at(self.path);
        push = with(push, self.max_streams, Push::max_streams);
        push = with(push, self.max_streams_per_network, Push::max_streams_per_network);
        push = with(push, self.heartbeat, Push::heartbeat);
        with(push, self.lifetime, Push::lifetime)
    }
}

impl StatusFile {
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
