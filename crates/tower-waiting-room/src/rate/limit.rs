//! A rate limit as the user writes it.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use http::Method;
use serde::Deserialize;
use waiting_room_core::{Algorithm, Limiter, Quota};

use super::condition::Condition;
use crate::{
    rate_headers::QuotaUnit,
    request::{Key, Matcher, MissingKey, Part, PathRule, RequestHead, Scope},
};

/// A named limit: how much, for whom, of which requests.
///
/// ```
/// use http::Method;
/// use tower_waiting_room::{Key, Quota, RateLimit};
///
/// // 120 requests a minute from an address, at most 20 of them at once.
/// let per_ip = RateLimit::per_ip(Quota::per_minute(120).burst(20));
///
/// // Five attempts a minute to log in, and ten thousand requests a day for each API key, or a
/// // hundred thousand for those who pay.
/// let login = RateLimit::new("login", Quota::per_minute(5), Key::address())
///     .methods([Method::POST])
///     .path("/login");
/// let daily = RateLimit::new("daily", Quota::per_day(10_000), Key::header("x-api-key"))
///     .tier(Quota::per_day(100_000), |head| head.headers().contains_key("x-paid"));
/// # let _ = (per_ip, login, daily);
/// ```
#[derive(Clone)]
#[must_use]
pub struct RateLimit {
    pub(crate) name: Cow<'static, str>,
    pub(crate) quota: Quota,
    pub(crate) tiers: Vec<Tier>,
    pub(crate) key: Key,
    pub(crate) algorithm: Algorithm,
    /// The requests that it is about; `None` for all.
    pub(crate) scope: Option<Scope>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) cost: Cost,
    pub(crate) over_limit: OverLimit,
    pub(crate) missing_key: MissingKey,
    pub(crate) max_keys: usize,
    pub(crate) is_adjustable: bool,
    pub(crate) unit: QuotaUnit,
}

/// Another quota for some.
#[derive(Clone)]
pub(crate) struct Tier {
    pub(crate) quota: Quota,
    pub(crate) matcher: Matcher,
}

/// What a request costs.
#[derive(Clone)]
pub(crate) enum Cost {
    By(Arc<dyn Fn(&RequestHead<'_>) -> u64 + Send + Sync>),
    Fixed(u64),
}

impl RateLimit {
    /// So many keys are remembered by default.
    pub const MAX_KEYS: usize = 65_536;
    /// The longest time for which a leaky queue may hold a request.
    pub const MAX_HOLD: Duration = Duration::from_secs(60);

    /// A limit of this name, which stands in headers, logs and metrics.
    ///
    /// By default it counts all requests as 1, by the [generic cell rate
    /// algorithm](Algorithm::Gcra), and refuses those that are over the limit.
    pub fn new(name: impl Into<Cow<'static, str>>, quota: Quota, key: Key) -> Self {
        Self {
            name: name.into(),
            quota,
            tiers: Vec::new(),
            key,
            algorithm: Algorithm::default(),
            scope: None,
            conditions: Vec::new(),
            cost: Cost::Fixed(1),
            over_limit: OverLimit::default(),
            missing_key: MissingKey::default(),
            max_keys: Self::MAX_KEYS,
            is_adjustable: false,
            unit: QuotaUnit::default(),
        }
    }

    /// `per_ip`: a limit for each client address.
    pub fn per_ip(quota: Quota) -> Self {
        Self::new("per_ip", quota, Key::address())
    }

    /// `service`: one limit for all requests together.
    pub fn global(quota: Quota) -> Self {
        Self::new("service", quota, Key::global())
    }

    /// Another quota.
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quota = quota;
        self
    }

    /// Another algorithm. A [leaky queue](Algorithm::LeakyQueue) has to have a burst so small that
    /// its last place waits for no longer than [`MAX_HOLD`](Self::MAX_HOLD).
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Another quota for requests of which the closure says so. The first tier that does counts.
    ///
    /// What a key has used stays used when it changes its tier.
    pub fn tier(
        mut self,
        quota: Quota,
        test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.tiers.push(Tier { quota, matcher: Matcher::When(Arc::new(test)) });
        self
    }

    /// Only requests of one of these methods. `GET` stands for `HEAD` too, which is the same work.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Scope::add_methods(&mut self.scope, methods);
        self
    }

    /// Only requests for exactly this path, as this layer sees it: inside of axum's `nest`, without
    /// the prefix.
    ///
    /// It is limited however it is written: with escaped letters, doubled slashes, backslashes, dot
    /// segments, parameters (`/login;a`), or a slash at its end. axum and nginx tell `/login/` from
    /// `/login`, but nginx joins `/login//` and resolves `/login/.`, and tower-http's
    /// `NormalizePath`, Express and others take all of them for `/login`. Upper and lower case are
    /// two paths, unless a limit names both.
    ///
    /// A path of more than 8 KiB is limited by every limit on a path. So is one that servers may
    /// read in several ways (with detours, or with escapes of anything but letters, digits, spaces
    /// and the like) if it has more than 256 bytes, or more than 16 detours and escapes.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.matcher(Matcher::Path(PathRule::exact(path.into())))
    }

    /// Only requests for a path that begins so, however it is written. `/reports/` covers `/reports`
    /// too.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        self.matcher(Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Only requests of which the closure says so.
    pub fn when(self, test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.matcher(Matcher::When(Arc::new(test)))
    }

    /// What each request costs. 1.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = Cost::Fixed(cost);
        self
    }

    /// What a request costs, by a closure. 0 is free.
    pub fn cost_by(
        mut self,
        cost: impl Fn(&RequestHead<'_>) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.cost = Cost::By(Arc::new(cost));
        self
    }

    /// In what is counted, for the headers. [`QuotaUnit::Requests`].
    pub fn unit(mut self, unit: QuotaUnit) -> Self {
        self.unit = unit;
        self
    }

    /// What happens to requests that are over the limit. [`OverLimit::Refuse`].
    pub fn over_limit(mut self, over_limit: OverLimit) -> Self {
        self.over_limit = over_limit;
        self
    }

    /// What happens to requests without the key. [`MissingKey::Address`].
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// How many keys are remembered that are in use at a time. [`RateLimit::MAX_KEYS`].
    ///
    /// The algorithms with one number take 37 bytes for each from the start. The others take memory
    /// as keys come; a sliding log up to 16 bytes for each request that its limit allows. All keys
    /// of all limits of a layer together may come to take
    /// [4 GiB](Limiter::MAX_BYTES) at most; a configuration by which they could
    /// take more is refused.
    ///
    /// When more keys are in use, the least used lose their places, and all keys of their networks that
    /// have no place start with what those had used: no client is forgiven by being forgotten, and a
    /// flood from one network refuses newcomers of that network alone. A network is a /16 of IPv4 or a
    /// /32 of IPv6. Keys without an address have none: newcomers of such a limit may be refused after
    /// a flood of made-up keys for as long as its window lasts, so put a limit by address beside it.
    /// [`Misconfiguration::MaxKeysExceeded`](crate::Misconfiguration::MaxKeysExceeded) tells the
    /// operator, and `waiting_room_limit_keys_displaced_total` counts.
    ///
    /// Where a store counts the limit, this is how many keys each node has it keep: further keys share
    /// one with their network, of which one for each eight keys is told apart. For that the node
    /// remembers which keys it has asked about.
    ///
    /// At most 16 777 216 for all limits of a layer together. [`Key::global`] is one.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Puts a [`ChargeHandle`](crate::ChargeHandle) into the extensions of each request, by which the
    /// application corrects the cost once it knows it.
    pub fn adjustable(mut self) -> Self {
        self.is_adjustable = true;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn matcher(mut self, matcher: Matcher) -> Self {
        Scope::add(&mut self.scope, matcher);
        self
    }

    /// The quotas of all tiers; the first is for who is in none.
    pub(crate) fn quotas(&self) -> Vec<Quota> {
        [self.quota].into_iter().chain(self.tiers.iter().map(|tier| tier.quota)).collect()
    }

    /// How many keys it has place for: one, where there are no others.
    pub(crate) fn keys(&self) -> usize {
        if self.key.is_constant() { 1 } else { self.max_keys }
    }

    /// The memory that it can come to take, in bytes.
    pub(crate) fn most_bytes(&self) -> u64 {
        Limiter::most_bytes(self.algorithm, &self.quotas(), self.keys())
    }

    /// Whether a limit can go on with the memory of another.
    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        self.name == other.name
            && self.key == other.key
            && self.algorithm == other.algorithm
            && self.keys() == other.keys()
    }

    /// Whether the address of a client makes a difference to it.
    pub(crate) fn needs_address(&self) -> bool {
        let is_fallback = self.missing_key == MissingKey::Address && self.key.can_be_missing();
        let is_condition = self.conditions.iter().any(|it| it.part == Part::Address);
        is_fallback || is_condition || self.key.needs_address()
    }

    /// Whether it limits every client in all that it does.
    pub(crate) fn is_guard(&self) -> bool {
        self.key.is_by_address()
            && self.over_limit == OverLimit::Refuse
            && self.scope.is_none()
            && self.conditions.is_empty()
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("name", &self.name)
            .field("quota", &self.quota)
            .field("key", &self.key)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// What happens to a request that is over a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OverLimit {
    /// A soft limit: it goes on, marked with [`OverSoftLimit`](crate::OverSoftLimit) in its
    /// extensions and counted in the metrics.
    Mark,
    /// A hard limit: it is answered with 429.
    #[default]
    Refuse,
    /// Shadow mode: it goes on, and is counted in the metrics.
    Shadow,
}
