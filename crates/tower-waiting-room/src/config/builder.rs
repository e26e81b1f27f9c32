//! The builder of a configuration, with its options and their validation.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp,
    error::ConfigErrorKind,
    rate::RateStore,
    room::event::{Event, RoomPlan, Schedule},
};

use super::{
    layer::WaitingRoomConfig,
    modes::{DebugHeader, Enforcement, Preflight},
};
#[cfg(feature = "files")]
use waiting_room_core::room::{Setting, SettingValue};

#[cfg(feature = "room")]
use crate::room::RoomOptions;
use crate::{
    gate::{Concurrency, GateStage},
    rate::{RateConfig, RateLimit, RateStoreFailure, Shared},
    rate_headers::RateHeaders,
    request::{Bypass, ClientIp, RequestHead},
    respond::{Answer, JsonProfile, Page, Shape, Shapes, Statuses},
};

impl WaitingRoomConfig {
    /// Returns a builder for a layer with this name, which may contain only letters, digits, `-`
    /// and `_`.
    ///
    /// The room has the same name, which is also part of the name of the room's cookie and a label
    /// on all metrics.
    pub fn builder(name: impl Into<String>) -> WaitingRoomConfigBuilder {
        let name = name.into();
        WaitingRoomConfigBuilder {
            total_active_users: None,
            rules: RoomRules::new(name.clone(), RoomRules::MAX_USERS),
            events: Vec::new(),
            config: Self {
                name: name.into(),
                room: None,
                schedule: Schedule::default(),
                rates: RateConfig::default(),
                rules_file: None,
                gates: Vec::new(),
                #[cfg(feature = "room")]
                room_options: RoomOptions::default(),
                bypass: Vec::new(),
                preflight: Preflight::SkipRoom,
                page: Page::default(),
                shapes: Shapes::default(),
                statuses: Statuses::default(),
                json_profile: JsonProfile::default(),
                enforcement: Enforcement::Enforce,
                debug_header: DebugHeader::Off,
            },
        }
    }

    /// Returns a builder that starts with this configuration. The builder can add options that a
    /// file cannot express, such as a store or a closure.
    pub fn into_builder(self) -> WaitingRoomConfigBuilder {
        let rules = self.room.clone();
        let rules = rules.unwrap_or_else(|| RoomRules::new(&*self.name, RoomRules::MAX_USERS));
        let total_active_users = self.room.as_ref().map(|rules| rules.total_active_users);
        let events = self.schedule.events().to_vec();
        WaitingRoomConfigBuilder { total_active_users, rules, events, config: self }
    }
}

/// Collects the options of a [`WaitingRoomConfig`].
#[derive(Clone, Debug)]
#[must_use]
pub struct WaitingRoomConfigBuilder {
    /// The maximum number of active visitors; `None` if there is no room. Without a room, the
    /// `rules` are validated because they contain the layer's name, but they are otherwise unused.
    pub(super) total_active_users: Option<u32>,
    pub(super) rules: RoomRules,
    pub(super) events: Vec<Event>,
    pub(super) config: WaitingRoomConfig,
}

impl WaitingRoomConfigBuilder {
    /// The maximum number of bypass rules.
    pub const MAX_BYPASS: usize = 100;

    /// Adds a rate limit. A request is charged against either all of the limits that apply to it or
    /// none of them.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.config.rates.limits.code.push(limit);
        self
    }

    /// Keeps the state of the rate limits in a store that all nodes share, instead of in this
    /// process.
    ///
    /// `on_failure` determines how requests are treated if the store does not answer in time. All
    /// nodes share the limits that have the same name, so configure the same quotas on each node.
    /// To add a store to a configuration from a file, use
    /// [`into_builder`](WaitingRoomConfig::into_builder).
    pub fn rate_store(mut self, store: impl RateStore, on_failure: RateStoreFailure) -> Self {
        self.config.rates.shared = Some(Shared { store: Arc::new(store), on_failure });
        self
    }

    /// Adds the rate limits from a YAML or TOML file, and reapplies the file whenever it changes.
    ///
    /// If the file cannot be applied at start-up, [`build`](Self::build) fails. If a later change
    /// cannot be applied, the old limits stay in effect, and the error is logged and returned by
    /// [`file_error`](crate::handle::LimitsHandle::file_error). The file `docs/rules-file.md` in
    /// the repository describes the format.
    #[cfg(feature = "files")]
    pub fn rate_limits_file(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.config.rules_file.get_or_insert_default().path = path.into();
        self
    }

    /// Defines a key for the rules file. The closure returns the value of the key for a request, or
    /// `None` if the request lacks the key.
    ///
    /// A descriptor requires a [`rate_limits_file`](Self::rate_limits_file). The name must be
    /// neither a built-in name nor the name of another descriptor.
    #[cfg(feature = "files")]
    pub fn descriptor(
        mut self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let part = crate::request::Part::By(name.into(), Arc::new(closure));
        self.config.rules_file.get_or_insert_default().descriptors.push(part);
        self
    }

    /// Adds a gate, which limits the number of requests that run at once.
    ///
    /// A request first passes the gates with a key, then the gates that cover only some requests,
    /// and finally the gates that cover all requests. Gates of the same kind are passed in the
    /// order in which they were added.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.config.gates.push(concurrency);
        self
    }

    /// Sets the source of a client's address. The default is [`ClientIp::peer`], the address of the
    /// connection. Behind a proxy, the address of the connection is that of the proxy.
    pub fn client_ip(mut self, client_ip: ClientIp) -> Self {
        self.config.rates.client_ip = client_ip;
        self
    }

    /// Sets the headers that report limits to clients. The default is [`RateHeaders::Common`].
    pub fn rate_headers(mut self, headers: RateHeaders) -> Self {
        self.config.rates.headers = headers;
        self
    }

    /// Sets the maximum number of requests that all [leaky
    /// queues](crate::rate::Algorithm::LeakyQueue) together may delay at the same time. The default
    /// is 10 000. Further requests are refused.
    pub fn max_held_requests(mut self, requests: usize) -> Self {
        self.config.rates.max_held = requests;
        self
    }

    /// Adds a rule for requests that skip the room, the rate limits and the gates. If several rules
    /// cover a request, the first of these rules is reported as the reason.
    pub fn bypass(mut self, rule: Bypass) -> Self {
        self.config.bypass.push(rule);
        self
    }

    /// Sets the stages that a CORS preflight goes through. The default is [`Preflight::SkipRoom`].
    pub fn preflight(mut self, preflight: Preflight) -> Self {
        self.config.preflight = preflight;
        self
    }

    /// Sets a closure that customizes refusals of all kinds. It does not affect answers to waiting
    /// clients, which [`waiting`](Self::waiting) customizes.
    ///
    /// The closure receives the answer and the request, and returns a response, or `None` to use
    /// the layer's default response. The layer sends the body and the headers of the returned
    /// response, together with the headers that every answer needs (`Retry-After`, `Cache-Control`,
    /// the rate limit headers and the token). The status of the returned response is sent only if
    /// it is a client or server error; otherwise [`Answer::status`] is sent. A gRPC client always
    /// gets the HTTP status 200 and no body, so set `grpc-status` or `grpc-message` in the headers.
    ///
    /// The closure does not apply to the data that the script of the waiting page reads. It runs on
    /// the task of the refused request, so it must not block.
    ///
    /// ```
    /// use http::Response;
    /// use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, respond::ClientKind};
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
        self.config.shapes.refusal = Some(Shape::new(shape));
        self
    }

    /// Sets a closure that customizes the answers to programs that are waiting in line, in the same
    /// way as [`refusal`](Self::refusal) customizes refusals. By default, such a program gets its
    /// position and its expected wait as JSON. A closure replaces this JSON, so it must send what its
    /// clients need, as the [example `page`][example] does.
    ///
    /// The closure does not apply to the waiting page, which [`page`](Self::page) sets, or to the
    /// data that the page's script reads.
    ///
    /// [example]: https://docs.rs/crate/tower-waiting-room/latest/source/examples/page.rs
    pub fn waiting<F, B>(mut self, shape: F) -> Self
    where
        F: Fn(&Answer, &RequestHead<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.config.shapes.waiting = Some(Shape::new(shape));
        self
    }

    /// Sets the page for waiting browsers. The default is a built-in page in the visitor's
    /// language.
    ///
    /// The settings of the page are checked by [`build`](Self::build).
    pub fn page(mut self, page: Page) -> Self {
        self.config.page = page;
        self
    }

    /// Sets whether verdicts take effect. The default is [`Enforcement::Enforce`].
    /// [`Enforcement::Shadow`] forwards every request and reports what would have happened.
    pub fn enforcement(mut self, enforcement: Enforcement) -> Self {
        self.config.enforcement = enforcement;
        self
    }

    /// Sets whether every response has a header with the reason for its verdict. The default is
    /// [`DebugHeader::Off`].
    pub fn debug_header(mut self, header: DebugHeader) -> Self {
        self.config.debug_header = header;
        self
    }

    /// Sets a rule of the room to the value from a file.
    #[cfg(all(feature = "files", feature = "room"))]
    pub(super) fn setting(
        mut self,
        setting: &Setting,
        value: &SettingValue,
    ) -> Result<Self, ConfigError> {
        setting.set(&mut self.rules, value)?;
        if setting.name() == "total_active_users" {
            self.total_active_users = Some(self.rules.total_active_users);
        }
        Ok(self)
    }

    /// Validates the configuration.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid. The error names the first invalid field, the given
    /// value and the expected value.
    pub fn build(mut self) -> Result<WaitingRoomConfig, ConfigError> {
        #[cfg(feature = "room")]
        self.adopt_rules()?;
        let Self { total_active_users, rules, events, mut config } = self;
        #[cfg(feature = "files")]
        if let Some(file) = &config.rules_file {
            config.rates.limits.file = file.load_first()?;
        }
        config.rates.validate()?;
        GateStage::validate(&config.gates)?;
        let has_limits = config.rules_file.is_some() || config.rates.limits.iter().next().is_some();
        if total_active_users.is_none() && !has_limits && config.gates.is_empty() {
            let (field, expected) = NO_STAGE;
            return Err(ConfigError::new(ConfigErrorKind::Missing, field, "missing", expected));
        }
        let no_rules = RoomRules::new(&*config.name, RoomRules::MAX_USERS);
        if total_active_users.is_none() && (rules != no_rules || !events.is_empty()) {
            let expected = "the number of visitors that the service can serve at once, because options \
                            of a room are set";
            let kind = ConfigErrorKind::Missing;
            let field = "total_active_users";
            return Err(ConfigError::new(kind, field, "missing", expected));
        }
        let users = total_active_users.unwrap_or(RoomRules::MAX_USERS);
        let rules = rules.total_active_users(users).validate()?;
        let mut given = Schedule::new(events)?;
        #[cfg(feature = "room")]
        {
            config.room_options.validate(&rules, total_active_users.is_some())?;
            for (event, seed) in config.room_options.seeds.drain(..) {
                given = given.with_seed(&rules.name, &event, seed)?;
            }
        }
        // An earlier configuration, from which the builder was created, provides the seeds. At time
        // zero, no event has begun, so no change can contradict an event in progress.
        let plan = RoomPlan::new(rules.clone(), config.schedule);
        config.schedule = plan.follow(given, Timestamp::ZERO)?.schedule;
        config.statuses.validate()?;
        config.page = config.page.checked()?;
        if config.bypass.len() > Self::MAX_BYPASS {
            let given = format!("{} rules", config.bypass.len());
            let expected = format!("at most {}", Self::MAX_BYPASS);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "bypass", given, expected));
        }
        config.bypass.iter().try_for_each(Bypass::validate)?;
        config.room = total_active_users.is_some().then_some(rules);
        Ok(config)
    }
}

/// The field that is reported as missing if a configuration has no stage at all, and its expected
/// value.
const NO_STAGE: (&str, &str) = if cfg!(feature = "room") {
    (
        "total_active_users",
        "the number of visitors that the service can serve at once, or a rate limit, or a limit on \
         concurrency",
    )
} else {
    ("rate_limit", "a rate limit or a limit on concurrency")
};
