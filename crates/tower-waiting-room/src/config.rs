//! What a waiting room does, decided once at start-up.
//!
//! A [`WaitingRoomConfig`] comes from the [builder](WaitingRoomConfig::builder) or from a file by
//! serde. Both end in the same [`build`](WaitingRoomConfigBuilder::build), so a config that exists
//! can be obeyed, and [`WaitingRoomLayer::new`](crate::WaitingRoomLayer::new) cannot fail.

mod file;
mod modes;

use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Deserialize;
use waiting_room_core::{
    ConfigError, ConfigErrorKind, CookieTest, PlacesPerNetwork, QueueingMethod, RateStore,
    Recovery, RoomMode, RoomRules, SessionRenewal,
};

pub use self::modes::{DebugHeader, Enforcement, Preflight};
use crate::{
    gate::{Concurrency, GateStage},
    rate::{RateConfig, RateLimit, RateStoreFailure, Shared},
    rate_headers::RateHeaders,
    request::{Bypass, ClientIp, ClientKind, Part, RequestHead},
    respond::{Answer, Page, Refusal, Statuses},
    room::{Challenge, FirstTouch},
    rules_file::RulesSource,
    token::{CookieSettings, KeyRing},
};

/// A validated configuration of one waiting room.
///
/// ```
/// use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration};
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
/// The same from a file, here JSON; unknown fields are refused:
///
/// ```
/// # use tower_waiting_room::WaitingRoomConfig;
/// let config: WaitingRoomConfig = serde_json::from_str(
///     r#"{ "name": "shop", "total_active_users": 200, "session_duration": "5m" }"#,
/// )?;
/// # let _ = config;
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Rate limits too, as far as they need no closure:
///
/// ```
/// # use tower_waiting_room::WaitingRoomConfig;
/// let config: WaitingRoomConfig = serde_json::from_str(
///     r#"{
///         "name": "api",
///         "client_ip": { "header": "x-forwarded-for", "trusted": ["10.0.0.0/8"] },
///         "rate_headers": "draft11_strict",
///         "rate_limits": [
///             { "name": "per_ip", "key": "address", "quota": { "limit": 120, "window": "1m" } },
///             {
///                 "name": "writes", "key": ["header.x-api-key", "path"], "methods": ["POST"],
///                 "quota": { "limit": 1000, "window": "1h", "burst": 50 }, "over_limit": "mark"
///             }
///         ]
///     }"#,
/// )?;
/// # let _ = config;
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// And limits on concurrency, each with a number, `"unlimited"` or an adaptive limit:
///
/// ```
/// # use tower_waiting_room::WaitingRoomConfig;
/// let config: WaitingRoomConfig = serde_json::from_str(
///     r#"{
///         "name": "api",
///         "concurrency": [
///             { "limit": 64, "queue": 256, "max_wait": "2s" },
///             { "name": "tenant", "limit": 8, "for_each": "header.x-api-key" },
///             {
///                 "name": "reports", "limit": 4, "path_prefix": "/reports/", "release_at": "head",
///                 "discipline": { "fair_by": { "key": "cookie.team" } }, "max_wait": "1s"
///             },
///             {
///                 "name": "models", "path_prefix": "/v1/", "body_stall": "none",
///                 "adaptive": { "gradient2": { "max": 100, "latency_target": "250ms" } }
///             }
///         ]
///     }"#,
/// )?;
/// # let _ = config;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "file::ConfigFile")]
pub struct WaitingRoomConfig {
    pub(crate) rules: RoomRules,
    /// Whether there is a room at all, or rate limits alone.
    pub(crate) has_room: bool,
    pub(crate) rates: RateConfig,
    /// The file that limits come from.
    pub(crate) rules_file: Option<RulesSource>,
    pub(crate) gates: Vec<Concurrency>,
    pub(crate) keys: Option<KeyRing>,
    pub(crate) cookie: CookieSettings,
    pub(crate) bypass: Vec<Bypass>,
    pub(crate) preflight: Preflight,
    pub(crate) page: Page,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) challenge: Option<Challenge>,
    pub(crate) statuses: Statuses,
    pub(crate) enforcement: Enforcement,
    pub(crate) debug_header: DebugHeader,
}

impl WaitingRoomConfig {
    /// Begins a configuration of the room of this name: letters, digits, `-` and `_`.
    pub fn builder(name: impl Into<String>) -> WaitingRoomConfigBuilder {
        WaitingRoomConfigBuilder {
            total_active_users: None,
            config: Self {
                rules: RoomRules::new(name, 0),
                has_room: true,
                rates: RateConfig::default(),
                rules_file: None,
                gates: Vec::new(),
                keys: None,
                cookie: CookieSettings::default(),
                bypass: Vec::new(),
                preflight: Preflight::SkipRoom,
                page: Page::default(),
                refusal: None,
                challenge: None,
                statuses: Statuses::default(),
                enforcement: Enforcement::Enforce,
                debug_header: DebugHeader::Off,
            },
        }
    }

    /// Goes on with this configuration, to add what no file can say: a store, a closure.
    pub fn into_builder(self) -> WaitingRoomConfigBuilder {
        let total_active_users = self.has_room.then(|| self.rules.total_active_users());
        WaitingRoomConfigBuilder { total_active_users, config: self }
    }

    /// The rules that the store is to enforce.
    #[must_use]
    pub const fn rules(&self) -> &RoomRules {
        &self.rules
    }
}

/// Collects a [`WaitingRoomConfig`].
#[derive(Clone, Debug)]
#[must_use]
pub struct WaitingRoomConfigBuilder {
    total_active_users: Option<u32>,
    config: WaitingRoomConfig,
}

impl WaitingRoomConfigBuilder {
    /// At most this many rules of bypass.
    pub const MAX_BYPASS: usize = 100;

    /// See [`RoomRules::total_active_users`]. Required, unless there are rate limits: with those
    /// alone there is no room.
    pub fn total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = Some(users);
        self
    }

    /// See [`RoomRules::new_users_per_minute`].
    pub fn new_users_per_minute(self, users: impl Into<Option<u32>>) -> Self {
        self.rules(|rules| rules.with_new_users_per_minute(users))
    }

    /// See [`RoomRules::session_duration`].
    pub fn session_duration(self, duration: Duration) -> Self {
        self.rules(|rules| rules.with_session_duration(duration))
    }

    /// See [`RoomRules::session_renewal`].
    pub fn session_renewal(self, renewal: SessionRenewal) -> Self {
        self.rules(|rules| rules.with_session_renewal(renewal))
    }

    /// See [`RoomRules::queueing_method`].
    pub fn queueing_method(self, method: QueueingMethod) -> Self {
        self.rules(|rules| rules.with_queueing_method(method))
    }

    /// See [`RoomRules::mode`].
    pub fn mode(self, mode: RoomMode) -> Self {
        self.rules(|rules| rules.with_mode(mode))
    }

    /// See [`RoomRules::line_capacity`].
    pub fn line_capacity(self, places: u32) -> Self {
        self.rules(|rules| rules.with_line_capacity(places))
    }

    /// See [`RoomRules::places_per_network`]. A network is what [`client_ip`](Self::client_ip) finds: an
    /// IPv4 address, or a /64 of IPv6. Clients are not counted whose address the server does not tell,
    /// that come over loopback, or from a private network by a proxy that is not named.
    pub fn places_per_network(self, places: PlacesPerNetwork) -> Self {
        self.rules(|rules| rules.with_places_per_network(places))
    }

    /// See [`RoomRules::place_retention`].
    pub fn place_retention(self, duration: Duration) -> Self {
        self.rules(|rules| rules.with_place_retention(duration))
    }

    /// See [`RoomRules::refresh_interval`].
    pub fn refresh_interval(self, interval: Duration) -> Self {
        self.rules(|rules| rules.with_refresh_interval(interval))
    }

    /// See [`RoomRules::cookie_test`].
    pub fn cookie_test(self, test: CookieTest) -> Self {
        self.rules(|rules| rules.with_cookie_test(test))
    }

    /// See [`RoomRules::recovery`].
    pub fn recovery(self, recovery: Recovery) -> Self {
        self.rules(|rules| rules.with_recovery(recovery))
    }

    /// See [`RoomRules::longest_session_duration`].
    pub fn longest_session_duration(self, duration: impl Into<Option<Duration>>) -> Self {
        self.rules(|rules| rules.with_longest_session_duration(duration))
    }

    /// Adds a rate limit. A request is charged by all limits that apply to it, or by none.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.config.rates.limits.code.push(limit);
        self
    }

    /// Counts the rate limits in a store that all nodes share, instead of in this process.
    ///
    /// `on_failure` is what to do with a request about which the store cannot decide in time. Limits
    /// of the same name are one limit on all nodes, so give them the same quota everywhere. To a
    /// configuration from a file, add a store [by the builder](WaitingRoomConfig::into_builder).
    pub fn rate_store(mut self, store: impl RateStore, on_failure: RateStoreFailure) -> Self {
        self.config.rates.shared = Some(Shared { store: Arc::new(store), on_failure });
        self
    }

    /// Adds the rate limits of a YAML or TOML file, and keeps to it whenever it changes. A file that
    /// cannot be used keeps the old limits in force, and says why in the log and by
    /// [`rules_file_error`](crate::WaitingRoomHandle::rules_file_error).
    ///
    /// The form of the file is in `docs/rules-file.md`.
    pub fn rate_limits_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.rules_file.get_or_insert_default().path = path.into();
        self
    }

    /// Names a key for the rules file: what the closure says of a request, if it has it.
    ///
    /// There must be such a file, and no other key of this name, also none that is built in.
    pub fn descriptor(
        mut self,
        name: impl Into<Cow<'static, str>>,
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let part = Part::By(name.into(), Arc::new(closure));
        self.config.rules_file.get_or_insert_default().descriptors.push(part);
        self
    }

    /// Adds a limit on how many requests run at once. See [`Concurrency`].
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.config.gates.push(concurrency);
        self
    }

    /// Where the address of a client is read from. [`ClientIp::peer`].
    pub fn client_ip(mut self, client_ip: ClientIp) -> Self {
        self.config.rates.client_ip = client_ip;
        self
    }

    /// Which headers tell a client about its limits. [`RateHeaders::Common`].
    pub fn rate_headers(mut self, headers: RateHeaders) -> Self {
        self.config.rates.headers = headers;
        self
    }

    /// How many requests [leaky queues](waiting_room_core::Algorithm::LeakyQueue) hold at a time,
    /// all together. 10 000.
    pub fn max_held_requests(mut self, requests: usize) -> Self {
        self.config.rates.max_held = requests;
        self
    }

    /// The keys that seal passes and tickets.
    ///
    /// Without them a random key is made, with a warning: then a restart voids every pass and
    /// every place, and two processes do not know each other's.
    pub fn keys(mut self, keys: KeyRing) -> Self {
        self.config.keys = Some(keys);
        self
    }

    /// How the cookie is set. `__Host-wr-<room>; Secure; HttpOnly; SameSite=Lax; Path=/`.
    pub fn cookie(mut self, cookie: CookieSettings) -> Self {
        self.config.cookie = cookie;
        self
    }

    /// Adds a rule for requests that concern neither the room nor rate limits nor gates. The first
    /// that covers counts.
    pub fn bypass(mut self, rule: Bypass) -> Self {
        self.config.bypass.push(rule);
        self
    }

    /// Sets the stages that a CORS preflight passes; [`Preflight::SkipRoom`] by default.
    pub fn preflight(mut self, preflight: Preflight) -> Self {
        self.config.preflight = preflight;
        self
    }

    /// Shapes the answers that clients get in the place of the application's: refusals of every
    /// kind, and what a program is told that waits in line.
    ///
    /// The closure sees the answer and the request, and returns a response, or `None` for the
    /// layer's own form. Of the response, the body and the headers are sent, with those that every
    /// answer needs (`Retry-After`, `Cache-Control`, the headers of limits, the token), and the
    /// status if it is one of an error; any other gives way to [`Answer::status`]. To a gRPC client
    /// no body is sent, and HTTP's status stays 200: set `grpc-status` or `grpc-message` to say
    /// something else.
    ///
    /// It is not asked about the waiting page, which is that of [`page`](Self::page), nor about what
    /// the script in that page reads. It must be quick: a flood of refusals asks it for each.
    ///
    /// ```
    /// use http::Response;
    /// use tower_waiting_room::{ClientKind, Quota, RateLimit, WaitingRoomConfig};
    ///
    /// let config = WaitingRoomConfig::builder("api")
    ///     .rate_limit(RateLimit::per_ip(Quota::per_minute(120)))
    ///     .refusal(|answer, request| {
    ///         if answer.kind != ClientKind::Json || !request.uri().path().starts_with("/v1/") {
    ///             return None;
    ///         }
    ///         let body = format!(r#"{{"data":"","status":{{"code":"{}"}}}}"#, answer.reason);
    ///         Response::builder()
    ///             .status(answer.status)
    ///             .header("content-type", "application/json")
    ///             .body(body)
    ///             .ok()
    ///     })
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn refusal<F, B>(mut self, shape: F) -> Self
    where
        F: Fn(&Answer, &RequestHead<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.config.refusal = Some(Refusal::new(shape));
        self
    }

    /// May ask newcomers for a proof: a request with neither a pass nor a ticket is answered with the
    /// response of the closure and nothing else, or goes on to the room with `None`.
    ///
    /// The closure sees the request and what this node knows of its network, after the rate limits and
    /// before the store of the room. It must be quick. There is an example at [`FirstTouch`].
    pub fn challenge<F, B>(mut self, ask: F) -> Self
    where
        F: Fn(&FirstTouch<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.config.challenge = Some(Challenge::new(ask));
        self
    }

    /// What a waiting browser is shown.
    pub fn page(mut self, page: Page) -> Self {
        self.config.page = page;
        self
    }

    /// The status of an answer to a waiting client of this kind: 200, 202, 429 or 503.
    ///
    /// 503 for navigations, so that crawlers come back and caches keep off; 429 for the rest. A
    /// gRPC client always gets 200 with a `grpc-status`, as its protocol demands.
    pub fn status(mut self, kind: ClientKind, status: StatusCode) -> Self {
        self.config.statuses.set(kind, status);
        self
    }

    /// Whether verdicts have an effect. [`Enforcement::Enforce`].
    pub fn enforcement(mut self, enforcement: Enforcement) -> Self {
        self.config.enforcement = enforcement;
        self
    }

    /// Whether every response says why. [`DebugHeader::Off`].
    pub fn debug_header(mut self, header: DebugHeader) -> Self {
        self.config.debug_header = header;
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// The first field that cannot be obeyed, with its value and what would do.
    pub fn build(self) -> Result<WaitingRoomConfig, ConfigError> {
        let Self { total_active_users, mut config } = self;
        if let Some(file) = &config.rules_file {
            config.rates.limits.file = file.load_first()?;
        }
        config.rates.validate()?;
        GateStage::validate(&config.gates)?;
        config.has_room = total_active_users.is_some();
        let has_limits = config.rules_file.is_some() || config.rates.limits.iter().next().is_some();
        if !config.has_room && !has_limits && config.gates.is_empty() {
            return Err(ConfigError::new(
                ConfigErrorKind::Missing,
                "total_active_users",
                "missing",
                "the number of visitors that the service can take at a time, or a rate limit, or a \
                 limit on concurrency",
            ));
        }
        if !config.has_room && config.challenge.is_some() {
            let expected = "total_active_users as well: without a room there is no first touch";
            let kind = ConfigErrorKind::Contradicts;
            return Err(ConfigError::new(kind, "challenge", "a closure", expected));
        }
        let users = total_active_users.unwrap_or(RoomRules::MAX_USERS);
        config.rules = config.rules.with_total_active_users(users).validate()?;
        if config.keys.is_none() && !config.rules.recovery_pause().is_zero() {
            return Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "recovery",
                "pause",
                "keys as well: with a random one no pass of before is valid",
            ));
        }
        config.cookie.validate(config.rules.name())?;
        config.keys.as_ref().map_or(Ok(()), KeyRing::validate)?;
        config.statuses.validate()?;
        if config.bypass.len() > Self::MAX_BYPASS {
            let given = format!("{} rules", config.bypass.len());
            let expected = format!("at most {}", Self::MAX_BYPASS);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "bypass", given, expected));
        }
        config.bypass.iter().try_for_each(Bypass::validate)?;
        Ok(config)
    }

    fn rules(mut self, change: impl FnOnce(RoomRules) -> RoomRules) -> Self {
        self.config.rules = change(self.config.rules);
        self
    }
}

#[cfg(test)]
mod tests;
