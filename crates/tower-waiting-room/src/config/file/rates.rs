//! Rate limits in a configuration file: everything about a [`RateLimit`] that needs no closure.
//!
//! Tiers, and costs, conditions and keys that are closures, can only be configured in code. An
//! algorithm has its default options here, which only a rules file or code can change.

use std::time::Duration;

use http::Method;
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as friendly;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError, Quota,
    error::ConfigErrorKind,
    rate::{Algorithm, Alignment, Refusals},
};

use crate::{
    config::WaitingRoomConfigBuilder,
    rate::{OverLimit, RateLimit},
    rate_headers::{QuotaUnit, RateHeaders},
    request::{ClientIp, Key, MissingKey, TrustedProxies},
};

/// The fields of a configuration file that concern rate limits.
#[derive(Default)]
pub(super) struct Rates {
    pub(super) limits: Vec<RateLimitFile>,
    #[cfg(feature = "rules-file")]
    pub(super) file: Option<std::path::PathBuf>,
    pub(super) headers: Option<RateHeaders>,
    pub(super) client_ip: Option<ClientIpFile>,
    /// The maximum number of requests in all leaky queues together.
    pub(super) max_held: Option<usize>,
}

/// The fields of one rate limit. An absent field has the default of [`RateLimit`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimitFile {
    /// The name of the limit in headers, logs and metrics. The name is required, and must be unique
    /// among all limits.
    name: String,
    /// The quota of the limit, which is required.
    quota: QuotaFile,
    /// The part of a request that identifies a client to the limit. This field is required.
    key: KeyFile,
    /// The algorithm of the limit. The default is `gcra`.
    algorithm: Option<AlgorithmName>,
    /// The methods of the requests that are limited. An empty list covers all methods.
    #[serde(default)]
    methods: Vec<String>,
    /// The path of the requests that are limited. By default, all paths are limited. If
    /// `path_prefix` is given too, a request must match both fields.
    path: Option<String>,
    /// The prefix of the paths of the requests that are limited.
    path_prefix: Option<String>,
    /// The cost of each request. The default is 1.
    cost: Option<u64>,
    /// The unit of the quota, as stated in headers, either `requests` (the default) or
    /// `content_bytes`.
    unit: Option<QuotaUnit>,
    /// The treatment of requests over the limit, one of `refuse` (the default), `mark` and
    /// `shadow`.
    over_limit: Option<OverLimit>,
    /// The treatment of requests that lack the key, one of `address` (the default), `bypass` and
    /// `refuse`.
    missing_key: Option<MissingKey>,
    /// The maximum number of keys that are remembered. The default is 65 536.
    max_keys: Option<usize>,
    /// Whether the application may correct the cost of a request afterwards. The default is false.
    adjustable: Option<bool>,
}

/// The quota of a limit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaFile {
    /// The number of units that each window allows. A limit of 0 allows nothing.
    limit: u64,
    /// The length of the window, from `1ms` to 366 days.
    #[serde(with = "friendly")]
    window: Duration,
    /// The number of units that are allowed at once, for algorithms that support a burst. The
    /// default is `limit`.
    burst: Option<u64>,
}

/// The name of a key such as `address`, or a list of names. Requests share a key of several parts
/// only if they share every part.
#[derive(Deserialize)]
#[serde(untagged, expecting = "key is neither a name nor a list of names")]
pub(super) enum KeyFile {
    One(String),
    Several(Vec<String>),
}

/// The source of a client's address. Without any field, the address of the connection is used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientIpFile {
    /// The header in which the proxies report the address. This field requires `trusted` or `hops`,
    /// because clients could choose their address if the header were trusted from any sender.
    header: Option<String>,
    /// The networks of the trusted proxies.
    trusted: Option<Vec<String>>,
    /// The number of proxies in front of the service, as an alternative to their networks.
    hops: Option<u8>,
    /// The length of the IPv6 prefix that identifies a client, in bits. The default is 64.
    ipv6_prefix: Option<u8>,
}

/// The names of the [`Algorithm`]s.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AlgorithmName {
    /// A counter for each window. The windows are aligned to the Unix epoch.
    FixedWindow,
    /// A leaky bucket as a meter, which allows the burst at once and then one request per interval.
    Gcra,
    /// A leaky bucket as a queue, which holds requests that arrive too fast until it is their turn.
    LeakyQueue,
    /// A weighted sum of the counters of the current and the previous window.
    SlidingCounter,
    /// A log of the times of all allowed requests. Refused requests are not counted.
    SlidingLog,
    /// Tokens that arrive at a constant rate and are saved up to the burst.
    TokenBucket,
}

impl Rates {
    /// Applies every given field to a builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a key, a method or a network is malformed, or if fields of `client_ip`
    /// contradict each other. Everything else is checked when the configuration is built.
    pub(super) fn apply(
        self,
        mut builder: WaitingRoomConfigBuilder,
    ) -> Result<WaitingRoomConfigBuilder, ConfigError> {
        for limit in self.limits {
            builder = builder.rate_limit(limit.rate_limit()?);
        }
        if let Some(file) = self.client_ip {
            builder = builder.client_ip(file.client_ip()?);
        }
        #[cfg(feature = "rules-file")]
        {
            builder = with(builder, self.file, |to, path| to.rate_limits_file(path));
        }
        builder = with(builder, self.headers, |to, headers| to.rate_headers(headers));
        Ok(with(builder, self.max_held, |to, requests| to.max_held_requests(requests)))
    }
}

impl RateLimitFile {
    /// Converts the fields to a limit of the builder.
    fn rate_limit(self) -> Result<RateLimit, ConfigError> {
        let methods = self.methods.iter().map(|name| method("rate_limit", &self.name, name));
        let methods = methods.collect::<Result<Vec<_>, _>>()?;
        let key = self.key.key(&self.name)?;
        let mut limit = RateLimit::new(self.name, self.quota.into(), key).methods(methods);
        limit = with(limit, self.algorithm, |to, name| to.algorithm(name.into()));
        limit = with(limit, self.path, |to, path| to.path(path));
        limit = with(limit, self.path_prefix, |to, prefix| to.path_prefix(prefix));
        limit = with(limit, self.cost, |to, cost| to.cost(cost));
        limit = with(limit, self.unit, |to, unit| to.unit(unit));
        limit = with(limit, self.over_limit, |to, over_limit| to.over_limit(over_limit));
        limit = with(limit, self.missing_key, |to, missing_key| to.missing_key(missing_key));
        limit = with(limit, self.max_keys, |to, keys| to.max_keys(keys));
        Ok(if self.adjustable == Some(true) { limit.adjustable() } else { limit })
    }
}

impl KeyFile {
    /// Converts the names to a key. `limit` is the name of the limit or the gate in error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is unknown or the list is empty.
    pub(super) fn key(self, limit: &str) -> Result<Key, ConfigError> {
        let names = match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names,
        };
        let wrong = |kind, given: String| {
            ConfigError::new(kind, "key", format!("{given} in the limit {limit:?}"), KEYS)
        };
        let keys = names.iter().map(|name| {
            key(name).ok_or_else(|| wrong(ConfigErrorKind::Malformed, format!("{name:?}")))
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let all = keys.into_iter().reduce(Key::and);
        all.ok_or_else(|| wrong(ConfigErrorKind::Missing, "empty".to_owned()))
    }
}

/// Returns the key with this name, or `None` if no key has this name. Keys are displayed under the
/// same names.
fn key(name: &str) -> Option<Key> {
    Some(match name {
        "address" => Key::address(),
        "everyone" => Key::global(),
        "method" => Key::method(),
        "path" => Key::path(),
        "visitor" => Key::visitor(),
        _ => match name.split_once('.')? {
            ("cookie", cookie) => Key::cookie(cookie),
            ("header", header) => Key::header(header),
            _ => return None,
        },
    })
}

impl ClientIpFile {
    /// Converts the fields to an option of the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a network is malformed, if the proxies are given in both ways, or if the
    /// header is given without the proxies or the proxies without the header.
    fn client_ip(self) -> Result<ClientIp, ConfigError> {
        let wrong =
            |kind, given, expected: &str| Err(ConfigError::new(kind, "client_ip", given, expected));
        let trusted = match (&self.trusted, self.hops) {
            (Some(networks), None) => {
                Some(TrustedProxies::networks(networks.iter().map(String::as_str))?)
            }
            (None, Some(hops)) => Some(TrustedProxies::hops(hops)),
            (None, None) => None,
            (Some(_), Some(_)) => {
                let given = "trusted and hops";
                return wrong(ConfigErrorKind::Contradicts, given, "only one of the two");
            }
        };
        let client_ip = match (self.header, trusted) {
            (None, None) => ClientIp::peer(),
            // `Forwarded` and `X-Forwarded-For` are chains to which each proxy adds an entry. Every
            // other header contains a single address.
            (Some(header), Some(trusted)) => match &*header.to_ascii_lowercase() {
                "forwarded" => ClientIp::forwarded(trusted),
                "x-forwarded-for" => ClientIp::x_forwarded_for(trusted),
                _ => ClientIp::header(header, trusted),
            },
            (Some(_), None) => {
                let expected =
                    "trusted or hops as well, since only proxies are trusted with a header";
                return wrong(ConfigErrorKind::Missing, "a header alone", expected);
            }
            (None, Some(_)) => {
                let (given, expected) = ("proxies alone", "proxies and the header that they set");
                return wrong(ConfigErrorKind::Missing, given, expected);
            }
        };
        Ok(with(client_ip, self.ipv6_prefix, ClientIp::ipv6_prefix))
    }
}

impl From<QuotaFile> for Quota {
    fn from(file: QuotaFile) -> Self {
        with(Self::new(file.limit, file.window), file.burst, Self::burst)
    }
}

impl From<AlgorithmName> for Algorithm {
    fn from(name: AlgorithmName) -> Self {
        match name {
            AlgorithmName::FixedWindow => Self::FixedWindow(Alignment::default()),
            AlgorithmName::Gcra => Self::Gcra,
            AlgorithmName::LeakyQueue => Self::LeakyQueue,
            AlgorithmName::SlidingCounter => Self::SlidingCounter,
            AlgorithmName::SlidingLog => Self::SlidingLog(Refusals::default()),
            AlgorithmName::TokenBucket => Self::TokenBucket,
        }
    }
}

/// The names of all keys, as listed in error messages.
const KEYS: &str = "address, everyone, method, path, visitor, cookie.<name> or header.<name>";

/// Sets an option if a value is given, and leaves the default in place otherwise.
pub(super) fn with<B, T>(builder: B, given: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// Parses a method. Error messages contain `field` and `rule`.
///
/// # Errors
///
/// Returns an error if the string is not a token (RFC 9110 section 9.1).
pub(super) fn method(field: &'static str, rule: &str, text: &str) -> Result<Method, ConfigError> {
    Method::from_bytes(text.as_bytes()).map_err(|_| {
        let given = format!("{text:?} in the rule {rule:?}");
        ConfigError::new(ConfigErrorKind::Malformed, field, given, "a method")
    })
}
