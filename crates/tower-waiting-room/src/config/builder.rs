//! The builder of a configuration: options and their validation.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode};
use waiting_room_core::{
    ConfigError, RoomRules,
    error::ConfigErrorKind,
    rate::RateStore,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
};

use super::{
    layer::WaitingRoomConfig,
    modes::{DebugHeader, Enforcement, Preflight},
};
use crate::{
    gate::{Concurrency, GateStage},
    rate::{RateConfig, RateLimit, RateStoreFailure, Shared},
    rate_headers::RateHeaders,
    request::{Bypass, ClientIp, ClientKind, RequestHead},
    respond::{Answer, Page, Refusal, Statuses},
    room::{Challenge, FirstTouch},
    token::{CookieSettings, KeyRing},
};

impl WaitingRoomConfig {
    /// Returns a builder for a layer of this name, which consists of letters, digits, `-` and `_`.
    ///
    /// The name is that of the room and of its cookie, and a label of all metrics.
    pub fn builder(name: impl Into<String>) -> WaitingRoomConfigBuilder {
        let name = name.into();
        WaitingRoomConfigBuilder {
            total_active_users: None,
            rules: RoomRules::new(name.clone(), RoomRules::MAX_USERS),
            config: Self {
                name: name.into(),
                room: None,
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

    /// Returns a builder that continues from this configuration, to add what no file can express: a
    /// store or a closure.
    pub fn into_builder(self) -> WaitingRoomConfigBuilder {
        let rules = self.room.clone();
        let rules = rules.unwrap_or_else(|| RoomRules::new(&*self.name, RoomRules::MAX_USERS));
        let total_active_users = self.room.as_ref().map(RoomRules::total_active_users);
        WaitingRoomConfigBuilder { total_active_users, rules, config: self }
    }
}

/// Collects the options of a [`WaitingRoomConfig`].
#[derive(Clone, Debug)]
#[must_use]
pub struct WaitingRoomConfigBuilder {
    /// `None` if there is no room. The `rules` are then checked, since they contain the name of the
    /// layer, but not used.
    pub(super) total_active_users: Option<u32>,
    pub(super) rules: RoomRules,
    pub(super) config: WaitingRoomConfig,
}

impl WaitingRoomConfigBuilder {
    /// The maximum number of bypass rules.
    pub const MAX_BYPASS: usize = 100;

    /// Sets the maximum number of visitors who are active at the same time: 1 to 10 000 000.
    ///
    /// A visitor is active from its admission until its session lapses. Required for a layer with a
    /// room; without it the layer has rate limits and gates alone.
    pub fn total_active_users(mut self, users: u32) -> Self {
        self.total_active_users = Some(users);
        self
    }

    /// Sets the maximum number of visitors who are admitted within any 60 seconds; `None`, the
    /// default, for no such limit. The window slides, so two bursts cannot meet at a minute's end.
    pub fn new_users_per_minute(self, users: impl Into<Option<u32>>) -> Self {
        self.rules(|rules| rules.with_new_users_per_minute(users))
    }

    /// Sets how long a session lasts: from 1 s to 24 h, 5 min by default.
    ///
    /// After that long without a request, or in total with [`SessionRenewal::Fixed`], the slot is
    /// given to the next visitor in line.
    pub fn session_duration(self, duration: Duration) -> Self {
        self.rules(|rules| rules.with_session_duration(duration))
    }

    /// Sets whether requests prolong a session. By default they do: [`SessionRenewal::Sliding`]
    /// counts [`session_duration`](Self::session_duration) from the last request.
    pub fn session_renewal(self, renewal: SessionRenewal) -> Self {
        self.rules(|rules| rules.with_session_renewal(renewal))
    }

    /// Sets the order in which visitors are admitted; [`QueueingMethod::Fifo`] by default.
    pub fn queueing_method(self, method: QueueingMethod) -> Self {
        self.rules(|rules| rules.with_queueing_method(method))
    }

    /// Sets the mode in which the room starts. By default it is [`RoomMode::Auto`], in which the
    /// limits decide. The [handle](crate::handle::RoomHandle) changes the mode while the room is in
    /// use.
    pub fn mode(self, mode: RoomMode) -> Self {
        self.rules(|rules| rules.with_mode(mode))
    }

    /// Sets the maximum number of places in the line; 100 000 by default.
    ///
    /// Further visitors are refused with `refused:line_full`, and keep their order of arrival if
    /// they come back as told. The value bounds the memory of the room.
    pub fn line_capacity(self, places: u32) -> Self {
        self.rules(|rules| rules.with_line_capacity(places))
    }

    /// Sets the maximum number of places that the visitors of one network hold at the same time; 1
    /// 000 by default.
    ///
    /// A network is an IPv4 address or a /64 of IPv6, as [`client_ip`](Self::client_ip) finds it.
    /// Visitors are not counted if the server does not report their address, if they come over
    /// loopback, or from a private network through a proxy that is not
    /// [trusted](crate::TrustedProxies).
    pub fn places_per_network(self, places: PlacesPerNetwork) -> Self {
        self.rules(|rules| rules.with_places_per_network(places))
    }

    /// Sets how long a place is kept for a visitor who does not check in; 5 min by default.
    ///
    /// The visitor delays no other meanwhile. At least twice
    /// [`refresh_interval`](Self::refresh_interval), so that one lost check-in costs no place.
    pub fn place_retention(self, duration: Duration) -> Self {
        self.rules(|rules| rules.with_place_retention(duration))
    }

    /// Sets the longest time between two check-ins of a waiting visitor: at least 2 s, 20 s by
    /// default.
    ///
    /// Visitors near the front check in more often. A longer interval costs the store fewer
    /// requests, and leaves a free slot unused for longer.
    pub fn refresh_interval(self, interval: Duration) -> Self {
        self.rules(|rules| rules.with_refresh_interval(interval))
    }

    /// Sets whether a newcomer must return a cookie before it gets a slot; [`CookieTest::Off`] by
    /// default. The test keeps clients without cookies, which would take a new slot with each
    /// request, out of a room that is nearly full.
    pub fn cookie_test(self, test: CookieTest) -> Self {
        self.rules(|rules| rules.with_cookie_test(test))
    }

    /// Sets how a room starts after it has lost its state, for example by a restart;
    /// [`Recovery::AdmitAtOnce`] by default. [`Recovery::Pause`] requires [`keys`](Self::keys).
    pub fn recovery(self, recovery: Recovery) -> Self {
        self.rules(|rules| rules.with_recovery(recovery))
    }

    /// Sets the longest [`session_duration`](Self::session_duration) of an earlier release whose
    /// passes may still be in use; none by default.
    ///
    /// A room in memory needs it for [`Recovery::Pause`] after a release that shortens sessions. A
    /// room in a shared store records it there.
    pub fn longest_session_duration(self, duration: impl Into<Option<Duration>>) -> Self {
        self.rules(|rules| rules.with_longest_session_duration(duration))
    }

    /// Adds a rate limit. A request is charged by all limits that apply to it, or by none of them.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.config.rates.limits.code.push(limit);
        self
    }

    /// Counts the rate limits in a store that all nodes share, instead of in this process.
    ///
    /// `on_failure` decides about requests for which the store does not answer in time. Limits of
    /// the same name are one limit on all nodes, so configure the same quota on each. To a
    /// configuration from a file, add a store [by the builder](WaitingRoomConfig::into_builder).
    pub fn rate_store(mut self, store: impl RateStore, on_failure: RateStoreFailure) -> Self {
        self.config.rates.shared = Some(Shared { store: Arc::new(store), on_failure });
        self
    }

    /// Adds the rate limits of a YAML or TOML file, and applies the file again whenever it changes.
    ///
    /// If the file cannot be applied at start-up, [`build`](Self::build) fails. Later the old
    /// limits stay in force, and the error is logged and returned by
    /// [`file_error`](crate::handle::LimitsHandle::file_error). The format of the file is described
    /// in `docs/rules-file.md` of the repository.
    #[cfg(feature = "rules-file")]
    pub fn rate_limits_file(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.config.rules_file.get_or_insert_default().path = path.into();
        self
    }

    /// Defines a key for the rules file: the value that the closure returns for a request, or
    /// `None` if the request has no such value.
    ///
    /// Requires a [`rate_limits_file`](Self::rate_limits_file) and a name that is neither built in
    /// nor defined twice.
    #[cfg(feature = "rules-file")]
    pub fn descriptor(
        mut self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let part = crate::request::Part::By(name.into(), Arc::new(closure));
        self.config.rules_file.get_or_insert_default().descriptors.push(part);
        self
    }

    /// Adds a gate: a limit on how many requests run at once.
    ///
    /// A request passes the gates by key first, then those for some requests only, and then those
    /// for all requests. Gates of one kind are passed in the order in which they were added.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.config.gates.push(concurrency);
        self
    }

    /// Sets where the address of a client is read from. By default it is [`ClientIp::peer`], the
    /// address of the connection. Behind a proxy, that is the address of the proxy.
    pub fn client_ip(mut self, client_ip: ClientIp) -> Self {
        self.config.rates.client_ip = client_ip;
        self
    }

    /// Sets the headers that report limits to clients; [`RateHeaders::Common`] by default.
    pub fn rate_headers(mut self, headers: RateHeaders) -> Self {
        self.config.rates.headers = headers;
        self
    }

    /// Sets the maximum number of requests that all [leaky
    /// queues](crate::rate::Algorithm::LeakyQueue) together delay at the same time; 10 000 by
    /// default. Further requests are refused.
    pub fn max_held_requests(mut self, requests: usize) -> Self {
        self.config.rates.max_held = requests;
        self
    }

    /// Sets the keys that seal passes and tickets. Nodes of one room need the same keys.
    ///
    /// Without this call a random key is generated and a warning is logged. A restart then voids
    /// every pass and every place, and nodes do not accept each other's tokens.
    pub fn keys(mut self, keys: KeyRing) -> Self {
        self.config.keys = Some(keys);
        self
    }

    /// Sets the attributes of the cookie; by default
    /// `__Host-wr-<room>; Secure; HttpOnly; SameSite=Lax; Path=/`.
    pub fn cookie(mut self, cookie: CookieSettings) -> Self {
        self.config.cookie = cookie;
        self
    }

    /// Adds a rule for requests that skip the room, the rate limits and the gates. The first rule
    /// that covers a request gives its reason.
    pub fn bypass(mut self, rule: Bypass) -> Self {
        self.config.bypass.push(rule);
        self
    }

    /// Sets the stages that a CORS preflight passes; [`Preflight::SkipRoom`] by default.
    pub fn preflight(mut self, preflight: Preflight) -> Self {
        self.config.preflight = preflight;
        self
    }

    /// Sets a closure that shapes refusals of every kind, and the answers to programs that wait in
    /// line.
    ///
    /// The closure receives the answer and the request. It returns a response, or `None` for the
    /// layer's own form. The body and the headers of the response are sent, together with the
    /// headers that every answer needs (`Retry-After`, `Cache-Control`, those of limits, the
    /// token). Its status is sent if it is a client or server error, otherwise [`Answer::status`]
    /// is. A gRPC client gets no body and HTTP status 200: set `grpc-status` or `grpc-message` in
    /// the headers.
    ///
    /// The waiting page, set by [`page`](Self::page), and the data that its script reads are not
    /// shaped. The closure is called on the task of each refused request, so it must not block.
    ///
    /// ```
    /// use http::Response;
    /// use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, request::ClientKind};
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

    /// Sets a closure that may challenge newcomers, for example with a puzzle. A request with
    /// neither a pass nor a ticket is answered with the response of the closure, or goes on to the
    /// room if that is `None`.
    ///
    /// The closure receives the request and what this node has recorded about its network. It is
    /// called after the rate limits and before the store of the room, on the task of the request,
    /// so it must not block. [`FirstTouch`] has an example.
    pub fn challenge<F, B>(mut self, ask: F) -> Self
    where
        F: Fn(&FirstTouch<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.config.challenge = Some(Challenge::new(ask));
        self
    }

    /// Sets the page for waiting browsers; a built-in page in the visitor's language by default.
    #[cfg(feature = "page")]
    pub fn page(mut self, page: Page) -> Self {
        self.config.page = page;
        self
    }

    /// Sets the status of answers to waiting clients of this kind: 200, 202, 429 or 503.
    ///
    /// By default 503 for navigations, so that crawlers come back later and caches do not store the
    /// page, and 429 for the others. A gRPC client always gets 200 with a `grpc-status`, as its
    /// protocol requires.
    pub fn status(mut self, kind: ClientKind, status: StatusCode) -> Self {
        self.config.statuses.set(kind, status);
        self
    }

    /// Sets whether verdicts take effect; [`Enforcement::Enforce`] by default.
    /// [`Enforcement::Shadow`] forwards every request and reports what would have happened.
    pub fn enforcement(mut self, enforcement: Enforcement) -> Self {
        self.config.enforcement = enforcement;
        self
    }

    /// Sets whether every response states its reason in a header; [`DebugHeader::Off`] by default.
    pub fn debug_header(mut self, header: DebugHeader) -> Self {
        self.config.debug_header = header;
        self
    }

    /// Validates the configuration.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first invalid field, the given value and the expected one.
    pub fn build(self) -> Result<WaitingRoomConfig, ConfigError> {
        let Self { total_active_users, rules, mut config } = self;
        if let Some(file) = &config.rules_file {
            config.rates.limits.file = file.load_first()?;
        }
        config.rates.validate()?;
        GateStage::validate(&config.gates)?;
        let has_limits = config.rules_file.is_some() || config.rates.limits.iter().next().is_some();
        if total_active_users.is_none() && !has_limits && config.gates.is_empty() {
            return Err(ConfigError::new(
                ConfigErrorKind::Missing,
                "total_active_users",
                "missing",
                "the number of visitors that the service can take at a time, or a rate limit, or a \
                 limit on concurrency",
            ));
        }
        if total_active_users.is_none() && config.challenge.is_some() {
            let expected = "total_active_users as well: without a room there is no first touch";
            let kind = ConfigErrorKind::Contradicts;
            return Err(ConfigError::new(kind, "challenge", "a closure", expected));
        }
        let users = total_active_users.unwrap_or(RoomRules::MAX_USERS);
        let rules = rules.with_total_active_users(users).validate()?;
        if config.keys.is_none() && !rules.recovery_pause().is_zero() {
            return Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "recovery",
                "pause",
                "keys as well: with a random key, no earlier pass is valid",
            ));
        }
        config.cookie.validate(rules.name())?;
        config.keys.as_ref().map_or(Ok(()), KeyRing::validate)?;
        config.statuses.validate()?;
        if config.bypass.len() > Self::MAX_BYPASS {
            let given = format!("{} rules", config.bypass.len());
            let expected = format!("at most {}", Self::MAX_BYPASS);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "bypass", given, expected));
        }
        config.bypass.iter().try_for_each(Bypass::validate)?;
        config.room = total_active_users.is_some().then_some(rules);
        Ok(config)
    }

    fn rules(mut self, change: impl FnOnce(RoomRules) -> RoomRules) -> Self {
        self.rules = change(self.rules);
        self
    }
}
