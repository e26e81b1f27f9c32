//! A rate limit as the user defines it.
//!
//! A [`RateLimit`] is plain data: it describes what is counted, for which requests, and with which
//! effect. The limit itself has no memory and performs no checks. The configuration validates all
//! limits of a layer together. A policy then applies each limit and keeps its state.

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
/// A request is charged against all limits that apply to it, or against none if one of them refuses
/// it, so a refused request uses up no quota. By default, a limit covers every request.
///
/// ```
/// use http::Method;
/// use tower_waiting_room::{Key, Quota, RateLimit};
///
/// // 120 requests per minute from each address, at most 20 of them at once.
/// let per_ip = RateLimit::per_ip(Quota::per_minute(120).burst(20));
///
/// // Five login attempts per minute from each address, and ten thousand requests per day for each
/// // API key, or a hundred thousand for clients that pay.
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
    /// The name, which is unique within a layer. A live change uses the name to find the memory of
    /// the limit.
    pub(crate) name: Cow<'static, str>,
    /// The quota for requests that are not in any tier.
    pub(crate) quota: Quota,
    /// The quotas for requests in a tier. The first tier that covers a request applies.
    pub(crate) tiers: Vec<Tier>,
    /// The part of a request that identifies a client to this limit.
    pub(crate) key: Key,
    pub(crate) algorithm: Algorithm,
    /// The requests that the limit covers, or `None` if it covers all requests.
    pub(crate) scope: Option<Scope>,
    /// Further conditions from a rules file, all of which must be satisfied.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) cost: Cost,
    pub(crate) over_limit: OverLimit,
    pub(crate) missing_key: MissingKey,
    /// The maximum number of keys in use that are remembered at a time.
    pub(crate) max_keys: usize,
    /// Whether the application may correct charges against this limit.
    pub(crate) is_adjustable: bool,
    /// The unit that headers report. The unit does not affect how requests are counted.
    pub(crate) unit: QuotaUnit,
}

/// A different quota of a limit for some of its requests.
#[derive(Clone)]
pub(crate) struct Tier {
    pub(crate) quota: Quota,
    /// The matcher that covers the requests in this tier.
    pub(crate) matcher: Matcher,
}

/// The cost of a request, in units of the quota.
#[derive(Clone)]
pub(crate) enum Cost {
    /// A cost that is computed for each request to which the limit applies.
    By(Arc<dyn Fn(&RequestHead<'_>) -> u64 + Send + Sync>),
    /// The same cost for every request.
    Fixed(u64),
}

impl RateLimit {
    /// The number of keys that a limit remembers by default.
    pub const MAX_KEYS: usize = 65_536;
    /// The longest time for which a leaky queue may hold a request.
    pub const MAX_HOLD: Duration = Duration::from_secs(60);

    /// Creates a limit with this name, which appears in headers, logs and metrics.
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

    /// Sets the algorithm. The default is [`Algorithm::Gcra`].
    ///
    /// The burst of a [leaky queue](Algorithm::LeakyQueue) has to be small enough that the last
    /// request in the queue waits for at most [`MAX_HOLD`](Self::MAX_HOLD). A leaky queue has to
    /// [refuse](OverLimit::Refuse) requests that exceed the burst.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Adds a tier: a different quota for the requests for which the closure returns `true`. If
    /// several tiers cover a request, the first tier applies.
    ///
    /// When a key changes tiers, GCRA, the token bucket and the leaky queue carry over what the key
    /// has used. The fixed window, the sliding counter and the sliding log count each tier
    /// separately.
    pub fn tier(
        mut self,
        quota: Quota,
        test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.tiers.push(Tier { quota, matcher: Matcher::When(Arc::new(test)) });
        self
    }

    /// Restricts the limit to requests with one of these methods. `GET` includes `HEAD`, which
    /// causes the same work. Further calls add more methods.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Scope::add_methods(&mut self.scope, methods);
        self
    }

    /// Restricts the limit to requests for exactly this path, as the layer sees it. Inside axum's
    /// `nest`, the path does not include the nested prefix.
    ///
    /// The limit applies no matter how a client spells the path: with escaped letters, doubled
    /// slashes, backslashes, dot segments, parameters (`/login;a`), or a trailing slash. Servers
    /// treat these spellings differently. axum and nginx distinguish `/login/` from `/login`, but
    /// nginx joins `/login//` and resolves `/login/.`, while tower-http's `NormalizePath`, Express
    /// and others treat all of them as `/login`. Paths that differ in letter case are different
    /// paths, and each needs its own limit.
    ///
    /// If a path is too long or too complex to be interpreted, every limit on a path applies to it.
    /// A path is too long if it exceeds 8 KiB. A path is too complex if servers may interpret it
    /// differently (because of sequences such as `//`, `/..` or `;`, or of percent-escapes for
    /// anything but letters, digits, spaces and the like), and it is longer than 256 bytes or
    /// contains more than 16 of these sequences and escapes.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.matcher(Matcher::Path(PathRule::exact(path.into())))
    }

    /// Restricts the limit to requests for a path that begins with `prefix`, no matter how a client
    /// spells the path. The prefix `/reports/` also covers `/reports`.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        self.matcher(Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Restricts the limit to requests for which the closure returns `true`.
    ///
    /// Restrictions are cumulative: a limit applies to the requests that satisfy all restrictions.
    pub fn when(self, test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.matcher(Matcher::When(Arc::new(test)))
    }

    /// Sets the cost of each request, in units of the quota. The default is 1.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = Cost::Fixed(cost);
        self
    }

    /// Sets a closure that computes the cost of each request. A request that costs 0 is always
    /// allowed.
    pub fn cost_by(
        mut self,
        cost: impl Fn(&RequestHead<'_>) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.cost = Cost::By(Arc::new(cost));
        self
    }

    /// Sets the unit in which headers report the quota. The default is [`QuotaUnit::Requests`].
    ///
    /// The unit is only informational for clients and does not affect how requests are counted. To
    /// change how requests are counted, use [`cost`](Self::cost).
    pub fn unit(mut self, unit: QuotaUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets what happens to requests that exceed the limit. The default is [`OverLimit::Refuse`].
    pub fn over_limit(mut self, over_limit: OverLimit) -> Self {
        self.over_limit = over_limit;
        self
    }

    /// Sets what happens to requests that lack the key. The default is [`MissingKey::Address`].
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// Sets the maximum number of keys in use that are remembered at a time. The default is
    /// [`RateLimit::MAX_KEYS`].
    ///
    /// GCRA, the token bucket and the leaky queue allocate the memory for all keys at the start: 37
    /// bytes per key. The other algorithms allocate memory as keys arrive. For each key, a sliding
    /// log uses up to 16 bytes per request that its quota allows. A configuration is rejected if
    /// its limits together could use more than [4 GiB](Limiter::MAX_BYTES).
    ///
    /// If more keys are in use, the least used keys lose their places. Every key that has no place
    /// then starts with the usage of the keys that were displaced from its network. A client
    /// therefore gains nothing when its key loses its place. A flood from one network affects only
    /// new keys from that network, and from the few networks that share a count with it: one
    /// in 64 networks, or one in `keys / 8` if `keys / 8` is larger. A network is an IPv4 /16 or an
    /// IPv6 /32.
    ///
    /// Keys without an address have no network. After a flood of invented keys, such a limit may
    /// refuse requests with new keys for as long as its window lasts, so add a limit by address.
    /// The misconfiguration [`MaxKeysExceeded`](crate::config::Misconfiguration::MaxKeysExceeded)
    /// is reported to the operator, and the `waiting_room_limit_keys_displaced_total` metric counts
    /// the displaced keys.
    ///
    /// If a store counts the limit, this option bounds the number of keys that each node adds to
    /// the store. All keys beyond the bound that belong to the same network share one key in the
    /// store. Networks are divided into groups, each with one shared key, and the number of groups
    /// is an eighth of this bound. To recognize new keys, each node remembers the keys that it has
    /// used.
    ///
    /// All limits of a layer together may remember at most 16 777 216 keys. A limit with
    /// [`Key::global`] has only one key.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Inserts a [`ChargeHandle`](crate::rate::ChargeHandle) into the extensions of each request.
    /// The application can use this handle to correct the cost once the cost is known.
    pub fn adjustable(mut self) -> Self {
        self.is_adjustable = true;
        self
    }

    /// Returns the name of the limit.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Restricts the limit to requests that `matcher` covers.
    pub(crate) fn matcher(mut self, matcher: Matcher) -> Self {
        Scope::add(&mut self.scope, matcher);
        self
    }

    /// Returns the quotas of all tiers. The first quota applies to requests in no tier, so the
    /// index of a tier in this list is one more than in `tiers`.
    pub(crate) fn quotas(&self) -> Vec<Quota> {
        [self.quota].into_iter().chain(self.tiers.iter().map(|tier| tier.quota)).collect()
    }

    /// Returns the number of keys that need places: one if all requests share a key, and `max_keys`
    /// otherwise.
    pub(crate) fn keys(&self) -> usize {
        if self.key.is_constant() { 1 } else { self.max_keys }
    }

    /// Returns the maximum memory that the keys of this limit can use, in bytes.
    pub(crate) fn most_bytes(&self) -> u64 {
        Limiter::most_bytes(self.algorithm, &self.quotas(), self.keys())
    }

    /// Returns whether this limit can take over the memory of a limit that it replaces.
    ///
    /// Quotas and conditions may differ, because the usage of a key simply counts against the new
    /// quota. With a different key or algorithm, the stored states would have a different meaning,
    /// and a different number of keys requires a different table.
    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        self.name == other.name
            && self.key == other.key
            && self.algorithm == other.algorithm
            && self.keys() == other.keys()
    }

    /// Returns whether the limit may need the address of the client: for its key, in place of a
    /// missing key, or for a condition.
    pub(crate) fn needs_address(&self) -> bool {
        let is_fallback = self.missing_key == MissingKey::Address && self.key.can_be_missing();
        let is_condition = self.conditions.iter().any(|condition| condition.part == Part::Address);
        is_fallback || is_condition || self.key.needs_address()
    }

    /// Returns whether the limit bounds all requests of every client.
    ///
    /// If a layer has such a limit, keys that clients can invent do no harm.
    pub(crate) fn is_guard(&self) -> bool {
        self.key.is_by_address()
            && self.over_limit == OverLimit::Refuse
            && self.scope.is_none()
            && self.conditions.is_empty()
    }
}

/// Omits closures, which have no useful representation, and options that most limits do not set.
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

/// The effect of a limit on a request that exceeds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OverLimit {
    /// A soft limit: the request is forwarded with an [`OverSoftLimit`](crate::rate::OverSoftLimit)
    /// in its extensions, and is counted in the metrics.
    Mark,
    /// A hard limit: the request is answered with status 429.
    #[default]
    Refuse,
    /// Shadow mode: the request is forwarded and is counted in the metrics, but nothing is added to
    /// its extensions.
    Shadow,
}
