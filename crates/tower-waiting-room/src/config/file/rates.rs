//! Rate limits in a configuration file: all of a [`RateLimit`] that needs no closure.

use std::{path::PathBuf, time::Duration};

use http::Method;
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as friendly;
use serde::Deserialize;
use waiting_room_core::{Algorithm, Alignment, ConfigError, ConfigErrorKind, Quota, Refusals};

use crate::{
    config::WaitingRoomConfigBuilder,
    rate::{OverLimit, RateLimit},
    rate_headers::{QuotaUnit, RateHeaders},
    request::{ClientIp, Key, MissingKey, TrustedProxies},
};

/// The fields that are about rate limits.
#[derive(Default)]
pub(super) struct Rates {
    pub(super) limits: Vec<RateLimitFile>,
    pub(super) file: Option<PathBuf>,
    pub(super) headers: Option<RateHeaders>,
    pub(super) client_ip: Option<ClientIpFile>,
    pub(super) max_held: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimitFile {
    name: String,
    quota: QuotaFile,
    key: KeyFile,
    algorithm: Option<AlgorithmName>,
    #[serde(default)]
    methods: Vec<String>,
    path: Option<String>,
    path_prefix: Option<String>,
    cost: Option<u64>,
    unit: Option<QuotaUnit>,
    over_limit: Option<OverLimit>,
    missing_key: Option<MissingKey>,
    max_keys: Option<usize>,
    adjustable: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaFile {
    limit: u64,
    #[serde(with = "friendly")]
    window: Duration,
    burst: Option<u64>,
}

/// `address`, or several in a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "key is neither a name nor a list of names")]
pub(super) enum KeyFile {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientIpFile {
    /// In which header the proxies say it; in none, the address of the connection is the client's.
    header: Option<String>,
    /// The networks of the proxies.
    trusted: Option<Vec<String>>,
    /// How many proxies there are, instead of where.
    hops: Option<u8>,
    ipv6_prefix: Option<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AlgorithmName {
    FixedWindow,
    Gcra,
    LeakyQueue,
    SlidingCounter,
    SlidingLog,
    TokenBucket,
}

impl Rates {
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
        builder = with(builder, self.file, |to, path| to.rate_limits_file(path));
        builder = with(builder, self.headers, |to, headers| to.rate_headers(headers));
        Ok(with(builder, self.max_held, |to, requests| to.max_held_requests(requests)))
    }
}

impl RateLimitFile {
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

/// The key that is displayed as this name.
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
                return wrong(ConfigErrorKind::Contradicts, given, "one of the two");
            }
        };
        let client_ip = match (self.header, trusted) {
            (None, None) => ClientIp::peer(),
            (Some(header), Some(trusted)) => match &*header.to_ascii_lowercase() {
                "forwarded" => ClientIp::forwarded(trusted),
                "x-forwarded-for" => ClientIp::x_forwarded_for(trusted),
                _ => ClientIp::header(header, trusted),
            },
            (Some(_), None) => {
                let expected = "trusted or hops as well: a header is believed of proxies only";
                return wrong(ConfigErrorKind::Missing, "a header alone", expected);
            }
            (None, Some(_)) => {
                let (given, expected) = ("proxies alone", "the header that they set as well");
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

const KEYS: &str = "address, everyone, method, path, visitor, cookie.<name> or header.<name>";

/// Sets what is given, and leaves the default of what is not.
pub(super) fn with<B, T>(builder: B, given: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// A method; `field` and `rule` are named in the error.
pub(super) fn method(field: &'static str, rule: &str, text: &str) -> Result<Method, ConfigError> {
    Method::from_bytes(text.as_bytes()).map_err(|_| {
        let given = format!("{text:?} in the rule {rule:?}");
        ConfigError::new(ConfigErrorKind::Malformed, field, given, "a method")
    })
}
