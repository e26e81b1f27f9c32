//! Rate limits in a configuration file: all options of a [`RateLimit`] that do not need a closure.
//!
//! Some options can be configured only in code: tiers, and costs, conditions and keys that are
//! closures. The `rate_limit` table has the same form as in a rules file.

use std::time::Duration;

use http::Method;
use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{ConfigError, Quota, error::ConfigErrorKind, rate::Algorithm};

use crate::{
    config::WaitingRoomConfigBuilder,
    rate::{
        OverLimit, RateLimit,
        names::{ALIGNMENTS, REFUSALS, UNITS, algorithms},
    },
    rate_headers::{QuotaUnit, RateHeaders},
    request::{ClientIp, Key, MissingKey, Part, TrustedProxies},
};

/// The fields of a configuration file that concern rate limits.
#[derive(Default)]
pub(super) struct Rates {
    pub(super) limits: Vec<RateLimitFile>,
    #[cfg(feature = "rules-file")]
    pub(super) file: Option<std::path::PathBuf>,
    pub(super) headers: Option<RateHeaders>,
    pub(super) client_ip: Option<ClientIpFile>,
    /// The maximum number of requests that all leaky queues together may delay at the same time.
    pub(super) max_held: Option<usize>,
}

/// The fields of one rate limit. An absent field has the same default as in [`RateLimit`].
///
/// `key`, `rate_limit`, `shadow_mode` and `soft` have the same form and meaning as in a rules file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimitFile {
    /// The part of a request that identifies a client to the limit. This field is required.
    key: KeyFile,
    /// The name, the quota and the algorithm of the limit. This field is required.
    rate_limit: RateFile,
    /// Whether the limit only counts and reports requests, without refusing any. The default is
    /// false.
    #[serde(default)]
    shadow_mode: bool,
    /// Whether requests that exceed the limit are marked and forwarded instead of refused. The
    /// default is false.
    #[serde(default)]
    soft: bool,
    /// The methods that the limit covers. An empty list covers all methods.
    #[serde(default)]
    methods: Vec<String>,
    /// The path that the limit covers. By default, the limit covers all paths. If `path` and
    /// `path_prefix` are both given, a request must match both.
    path: Option<String>,
    /// The prefix of the paths that the limit covers.
    path_prefix: Option<String>,
    /// The unit that headers report for the quota, either `requests` (the default) or
    /// `content_bytes`.
    quota_unit: Option<QuotaUnit>,
    /// The treatment of requests that lack the key, one of `address` (the default), `bypass` and
    /// `refuse`.
    missing_key: Option<MissingKey>,
    /// Whether the application may correct the cost of a request afterwards. The default is false.
    adjustable: Option<bool>,
}

/// The `rate_limit` table, as in a rules file. A rule can be `unlimited` only in a rules file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateFile {
    /// The name of the limit in headers, logs and metrics. The name is required, and must be unique
    /// among all limits.
    name: String,
    /// The number of units that each window allows. With a value of 0, every request is refused.
    requests_per_unit: u64,
    /// The length of the window, one of `second`, `minute`, `hour`, `day` and `week`. Exactly one
    /// of `unit` and `window` is required.
    unit: Option<String>,
    /// The length of the window as a duration from `1ms` to 366 days.
    #[serde(default, with = "friendly")]
    window: Option<Duration>,
    /// The name of the algorithm. The default is `gcra`.
    algorithm: Option<String>,
    /// The treatment of refused requests in a `sliding_log`, either `ignore` (the default) or
    /// `count`.
    refusals: Option<String>,
    /// The time at which the windows of a `fixed_window` start, either `epoch` (the default) or
    /// `first_hit`.
    alignment: Option<String>,
    /// The number of units that are allowed at once, for algorithms that support a burst. The
    /// default is `requests_per_unit`.
    burst: Option<u64>,
    /// The cost of each request. The default is 1.
    cost: Option<u64>,
    /// The maximum number of keys that are remembered. The default is 65 536.
    max_keys: Option<usize>,
}

/// The name of a key such as `remote_address`, or a list of names. If a key has several parts,
/// requests share the key only if they agree in every part.
#[derive(Deserialize)]
#[serde(untagged, expecting = "key is neither a name nor a list of names")]
pub(super) enum KeyFile {
    One(String),
    Several(Vec<String>),
}

/// The source of a client's address. If no field is given, the address of the connection is used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientIpFile {
    /// The header in which the proxies report the address. This field requires `trusted` or `hops`,
    /// because clients could choose their own address if the header were trusted regardless of its
    /// sender.
    header: Option<String>,
    /// The networks of the trusted proxies.
    trusted: Option<Vec<String>>,
    /// The number of proxies in front of the service, as an alternative to their networks.
    hops: Option<u8>,
    /// The length of the IPv6 prefix that identifies a client, in bits. The default is 64.
    ipv6_prefix: Option<u8>,
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
    /// Converts the fields to a limit for the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a name, a method or the window is invalid, or if two fields contradict
    /// each other.
    fn rate_limit(self) -> Result<RateLimit, ConfigError> {
        let rate = self.rate_limit;
        let methods = self.methods.iter().map(|name| method("rate_limit", &rate.name, name));
        let methods = methods.collect::<Result<Vec<_>, _>>()?;
        let key = self.key.key(&rate.name)?;
        let quota = rate.quota()?;
        let algorithm = rate.algorithm()?;
        let over_limit = match (self.shadow_mode, self.soft) {
            (false, false) => OverLimit::Refuse,
            (false, true) => OverLimit::Mark,
            (true, false) => OverLimit::Shadow,
            (true, true) => {
                let given = format!("true in the limit {:?}", rate.name);
                let expected = "either soft or shadow_mode, but not both";
                return Err(ConfigError::new(
                    ConfigErrorKind::Contradicts,
                    "soft",
                    given,
                    expected,
                ));
            }
        };
        let mut limit = RateLimit::new(rate.name, quota, key)
            .algorithm(algorithm)
            .over_limit(over_limit)
            .methods(methods);
        limit = with(limit, rate.cost, |to, cost| to.cost(cost));
        limit = with(limit, rate.max_keys, |to, keys| to.max_keys(keys));
        limit = with(limit, self.path, |to, path| to.path(path));
        limit = with(limit, self.path_prefix, |to, prefix| to.path_prefix(prefix));
        limit = with(limit, self.quota_unit, |to, unit| to.unit(unit));
        limit = with(limit, self.missing_key, |to, missing_key| to.missing_key(missing_key));
        Ok(if self.adjustable == Some(true) { limit.adjustable() } else { limit })
    }
}

impl RateFile {
    /// Returns the quota. The numbers in the quota are checked when the configuration is built.
    ///
    /// # Errors
    ///
    /// Returns an error if neither or both of `unit` and `window` are given. There is no default
    /// window, because any default would be a guess at the intention of the file's author.
    fn quota(&self) -> Result<Quota, ConfigError> {
        let window = match (&self.unit, self.window) {
            (Some(unit), None) => self.one_of("unit", unit, &UNITS)?,
            (None, Some(window)) => window,
            (Some(_), Some(window)) => {
                return Err(self.contradicts(
                    "window",
                    format!("{window:?}"),
                    "either unit or window, but not both",
                ));
            }
            (None, None) => {
                let given = format!("missing from the limit {:?}", self.name);
                let expected = "second, minute, hour, day or week, or a window";
                return Err(ConfigError::new(ConfigErrorKind::Missing, "unit", given, expected));
            }
        };
        Ok(with(Quota::new(self.requests_per_unit, window), self.burst, Quota::burst))
    }

    /// Returns the algorithm, including its option.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is unknown, or if an option is given for an algorithm that does
    /// not have this option. Ignoring the option would hide a mistake.
    fn algorithm(&self) -> Result<Algorithm, ConfigError> {
        let mut algorithm = match &self.algorithm {
            Some(name) => self.one_of("algorithm", name, &algorithms())?,
            None => Algorithm::default(),
        };
        if let Some(name) = &self.refusals {
            let Algorithm::SlidingLog(refusals) = &mut algorithm else {
                let expected = "no value unless the algorithm is sliding_log";
                return Err(self.contradicts("refusals", format!("{name:?}"), expected));
            };
            *refusals = self.one_of("refusals", name, &REFUSALS)?;
        }
        if let Some(name) = &self.alignment {
            let Algorithm::FixedWindow(alignment) = &mut algorithm else {
                let expected = "no value unless the algorithm is fixed_window";
                return Err(self.contradicts("alignment", format!("{name:?}"), expected));
            };
            *alignment = self.one_of("alignment", name, &ALIGNMENTS)?;
        }
        Ok(algorithm)
    }

    /// Returns the value that a field selects by name.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the valid names if `name` is not one of them.
    fn one_of<T: Copy>(
        &self,
        field: &'static str,
        name: &str,
        values: &[(&str, T)],
    ) -> Result<T, ConfigError> {
        let found = values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
            let given = format!("{name:?} in the limit {:?}", self.name);
            let expected = format!("one of {}", names.join(", "));
            ConfigError::new(ConfigErrorKind::Malformed, field, given, expected)
        })
    }

    /// Returns the error for a field that contradicts another field.
    fn contradicts(&self, field: &'static str, given: String, expected: &str) -> ConfigError {
        let given = format!("{given} in the limit {:?}", self.name);
        ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected)
    }
}

impl KeyFile {
    /// Converts the names to a key. `limit` is the name of the limit or gate, for error messages.
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

impl ClientIpFile {
    /// Converts the fields to an option for the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a network is malformed, if both `trusted` and `hops` are given, or if a
    /// header is given without proxies or proxies are given without a header.
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
            // `Forwarded` and `X-Forwarded-For` contain chains to which each proxy adds an entry.
            // Every other header contains a single address.
            (Some(header), Some(trusted)) => match &*header.to_ascii_lowercase() {
                "forwarded" => ClientIp::forwarded(trusted),
                "x-forwarded-for" => ClientIp::x_forwarded_for(trusted),
                _ => ClientIp::header(header, trusted),
            },
            (Some(_), None) => {
                let expected =
                    "trusted or hops as well, because a header is trusted only from proxies";
                return wrong(ConfigErrorKind::Missing, "a header alone", expected);
            }
            (None, Some(_)) => {
                let given = "proxies alone";
                let expected = "proxies and the header that they set";
                return wrong(ConfigErrorKind::Missing, given, expected);
            }
        };
        Ok(with(client_ip, self.ipv6_prefix, ClientIp::ipv6_prefix))
    }
}

/// Returns the key with this name, or `None` if no key has this name. The key is displayed under
/// the same name.
fn key(name: &str) -> Option<Key> {
    match name {
        "everyone" => Some(Key::global()),
        _ => Part::named(name).map(|part| Key::from(vec![part])),
    }
}

/// The names of all keys, as listed in error messages.
const KEYS: &str =
    "everyone, method, path, remote_address, visitor, cookie.<name> or header.<name>";

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
