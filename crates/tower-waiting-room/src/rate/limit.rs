//! A rate limit as the user writes it.
//!
//! [`RateLimit`] is plain data: what is counted, for which requests, and with which effect. It has
//! no memory and checks nothing by itself. The configuration validates it together with the other
//! limits of a layer, and a policy then holds its memory and applies it.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use http::Method;
use serde::Deserialize;
use waiting_room_core::{Limiter, Quota, rate::Algorithm};

use super::Condition;
use crate::{
    rate_headers::QuotaUnit,
    request::{Key, Matcher, MissingKey, Part, PathRule, RequestHead, Scope},
};

/// A named rate limit: a quota, the key that identifies clients, and the requests it covers.
///
/// A request is charged by all limits that apply to it, or by none if one of them refuses: a
/// refused request uses up nothing. By default a limit covers every request.
///
/// ```
/// use http::Method;
/// use tower_waiting_room::{Key, Quota, RateLimit};
///
/// // 120 requests a minute from an address, at most 20 of them at once.
/// let per_ip = RateLimit::per_ip(Quota::per_minute(120).burst(20));
///
/// // Five attempts a minute to log in, and ten thousand requests a day for each API key, or a
/// // hundred thousand for clients that pay.
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
    /// Unique among the limits of a layer: a live change finds the memory of a limit by its name.
    pub(crate) name: Cow<'static, str>,
    /// The quota of requests that are in no tier.
    pub(crate) quota: Quota,
    /// Other quotas. The first tier that covers a request applies.
    pub(crate) tiers: Vec<Tier>,
    /// The part of a request that identifies a client to this limit.
    pub(crate) key: Key,
    pub(crate) algorithm: Algorithm,
    /// The requests that the limit covers; `None` for all.
    pub(crate) scope: Option<Scope>,
    /// Further conditions, from a rules file. All of them must hold.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) cost: Cost,
    pub(crate) over_limit: OverLimit,
    pub(crate) missing_key: MissingKey,
    /// The number of keys in use that are remembered at a time.
    pub(crate) max_keys: usize,
    /// Whether the application may correct charges of this limit.
    pub(crate) is_adjustable: bool,
    /// The unit that headers state. It does not change how requests are counted.
    pub(crate) unit: QuotaUnit,
}

/// Another quota of a limit, for some of its requests.
#[derive(Clone)]
pub(crate) struct Tier {
    pub(crate) quota: Quota,
    /// Covers the requests that are in this tier.
    pub(crate) matcher: Matcher,
}

/// The cost of a request, in units of the quota.
#[derive(Clone)]
pub(crate) enum Cost {
    /// Computed for each request that the limit applies to.
    By(Arc<dyn Fn(&RequestHead<'_>) -> u64 + Send + Sync>),
    /// The same for every request.
    Fixed(u64),
}

impl RateLimit {
    /// The number of keys that a limit remembers by default.
    pub const MAX_KEYS: usize = 65_536;
    /// The longest time for which a leaky queue may hold a request.
    pub const MAX_HOLD: Duration = Duration::from_secs(60);

    /// Creates a limit under a name that appears in headers, logs and metrics.
    ///
    /// By default every request costs 1, is counted by the [generic cell rate
    /// algorithm](Algorithm::Gcra), and is refused if it exceeds the quota.
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

    /// Creates the limit `per_ip`: a quota for each client address.
    pub fn per_ip(quota: Quota) -> Self {
        Self::new("per_ip", quota, Key::address())
    }

    /// Creates the limit `service`: one quota for all requests together.
    pub fn global(quota: Quota) -> Self {
        Self::new("service", quota, Key::global())
    }

    /// Replaces the quota of requests that are in no [tier](Self::tier).
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quota = quota;
        self
    }

    /// Sets the algorithm; [`Algorithm::Gcra`] by default.
    ///
    /// A [leaky queue](Algorithm::LeakyQueue) needs a burst so small that its last place waits for
    /// at most [`MAX_HOLD`](Self::MAX_HOLD), and must [refuse](OverLimit::Refuse) requests beyond
    /// it.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Adds a tier: another quota for requests for which the closure returns `true`. The first such
    /// tier applies.
    ///
    /// When a key changes its tier, GCRA, the token bucket and the leaky queue keep what it has
    /// used. The windows and the log count each tier by itself.
    pub fn tier(
        mut self,
        quota: Quota,
        test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.tiers.push(Tier { quota, matcher: Matcher::When(Arc::new(test)) });
        self
    }

    /// Restricts the limit to requests with one of these methods. `GET` includes `HEAD`, which is
    /// the same work. Further calls add methods.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Scope::add_methods(&mut self.scope, methods);
        self
    }

    /// Restricts the limit to requests for exactly this path, as this layer sees it: inside axum's
    /// `nest`, without the prefix.
    ///
    /// The path is limited however a client writes it: with escaped letters, doubled slashes,
    /// backslashes, dot segments, parameters (`/login;a`), or a slash at its end. Servers differ
    /// here. axum and nginx distinguish `/login/` from `/login`, but nginx joins `/login//` and
    /// resolves `/login/.`, and tower-http's `NormalizePath`, Express and others treat all of them
    /// as `/login`. Upper and lower case are different paths, each of which needs its own limit.
    ///
    /// A path of more than 8 KiB is limited by every limit on a path. So is a path that servers may
    /// read in several ways (with detours, or with escapes of anything but letters, digits, spaces
    /// and the like) if it has more than 256 bytes, or more than 16 detours and escapes.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.matcher(Matcher::Path(PathRule::exact(path.into())))
    }

    /// Restricts the limit to requests for a path that begins with `prefix`, however a client
    /// writes it. `/reports/` covers `/reports` too.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        self.matcher(Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Restricts the limit to requests for which the closure returns `true`.
    ///
    /// Restrictions add up: a limit applies to the requests that satisfy all of them.
    pub fn when(self, test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.matcher(Matcher::When(Arc::new(test)))
    }

    /// Sets the cost of each request, in units of the quota; 1 by default.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = Cost::Fixed(cost);
        self
    }

    /// Sets the cost of each request by a closure. A request that costs 0 is always allowed.
    pub fn cost_by(
        mut self,
        cost: impl Fn(&RequestHead<'_>) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.cost = Cost::By(Arc::new(cost));
        self
    }

    /// Sets the unit that headers state for the quota; [`QuotaUnit::Requests`] by default.
    ///
    /// It informs clients and does not change how requests are counted; see [`cost`](Self::cost).
    pub fn unit(mut self, unit: QuotaUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets what happens to requests that exceed the limit; [`OverLimit::Refuse`] by default.
    pub fn over_limit(mut self, over_limit: OverLimit) -> Self {
        self.over_limit = over_limit;
        self
    }

    /// Sets what happens to requests without the key; [`MissingKey::Address`] by default.
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// Sets how many keys that are in use at a time are remembered; [`RateLimit::MAX_KEYS`] by
    /// default.
    ///
    /// GCRA, the token bucket and the leaky queue allocate 37 bytes for each key at the start. The
    /// other algorithms allocate as keys arrive; a sliding log takes up to 16 bytes for each
    /// request that its limit allows. A configuration whose limits could take more than
    /// [4 GiB](Limiter::MAX_BYTES) together is refused.
    ///
    /// When more keys are in use, the least used ones lose their places, and all keys of their
    /// networks that have no place start with what those had used. So no client is forgiven by
    /// being forgotten, and a flood from one network refuses newcomers of that network alone. A
    /// network is a /16 of IPv4 or a /32 of IPv6.
    ///
    /// Keys without an address have no network. After a flood of made-up keys, newcomers to such a
    /// limit may be refused for as long as its window lasts, so put a limit by address beside it.
    /// [`MaxKeysExceeded`](crate::config::Misconfiguration::MaxKeysExceeded) informs the operator,
    /// and the counter `waiting_room_limit_keys_displaced_total` counts displaced keys.
    ///
    /// If a store counts the limit, this bounds the keys that each node makes the store keep.
    /// Further keys share one key with their network; one network is distinguished for each eight
    /// keys of the bound. To know which keys are new, the node remembers those that it has used.
    ///
    /// All limits of a layer together remember at most 16 777 216 keys. [`Key::global`] is one key.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Puts a [`ChargeHandle`](crate::rate::ChargeHandle) into the extensions of each request, with
    /// which the application corrects the cost once it is known.
    pub fn adjustable(mut self) -> Self {
        self.is_adjustable = true;
        self
    }

    /// The name of the limit.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Restricts the limit to requests that `matcher` covers.
    pub(crate) fn matcher(mut self, matcher: Matcher) -> Self {
        Scope::add(&mut self.scope, matcher);
        self
    }

    /// The quotas of all tiers. The first is that of requests in no tier, so the index of a tier
    /// here is one more than in `tiers`.
    pub(crate) fn quotas(&self) -> Vec<Quota> {
        [self.quota].into_iter().chain(self.tiers.iter().map(|tier| tier.quota)).collect()
    }

    /// The number of keys to have places for: one if all requests share a key.
    pub(crate) fn keys(&self) -> usize {
        if self.key.is_constant() { 1 } else { self.max_keys }
    }

    /// The most memory that the keys of this limit can take, in bytes.
    pub(crate) fn most_bytes(&self) -> u64 {
        Limiter::most_bytes(self.algorithm, &self.quotas(), self.keys())
    }

    /// Whether this limit can continue with the memory of another, which it replaces.
    ///
    /// Quotas and conditions may differ: what a key has used counts against the new quota. Another
    /// key or algorithm gives the remembered states another meaning, and another number of keys
    /// needs another table.
    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        self.name == other.name
            && self.key == other.key
            && self.algorithm == other.algorithm
            && self.keys() == other.keys()
    }

    /// Whether the limit may have to know the address of the client: by its key, in place of a
    /// missing key, or by a condition.
    pub(crate) fn needs_address(&self) -> bool {
        let is_fallback = self.missing_key == MissingKey::Address && self.key.can_be_missing();
        let is_condition = self.conditions.iter().any(|it| it.part == Part::Address);
        is_fallback || is_condition || self.key.needs_address()
    }

    /// Whether the limit bounds every client in all of its requests.
    ///
    /// Beside such a limit, keys that clients can make up do no harm.
    pub(crate) fn is_guard(&self) -> bool {
        self.key.is_by_address()
            && self.over_limit == OverLimit::Refuse
            && self.scope.is_none()
            && self.conditions.is_empty()
    }
}

/// Leaves out closures, which have no useful text, and the options that most limits do not set.
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

/// What happens to a request that exceeds a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OverLimit {
    /// A soft limit: the request goes on, with [`OverSoftLimit`](crate::rate::OverSoftLimit) in its
    /// extensions, and is counted in the metrics.
    Mark,
    /// A hard limit: the request is answered with 429.
    #[default]
    Refuse,
    /// Shadow mode: the request goes on and is counted in the metrics. The application does not
    /// learn of it.
    Shadow,
}
