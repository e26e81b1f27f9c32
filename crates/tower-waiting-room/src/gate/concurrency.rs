//! The configuration of a gate: [`Concurrency`] and its options.
//!
//! A `Concurrency` is only a description: it has no state and may be cloned. `validate` checks it
//! when the configuration is built, and `gate/registry.rs` creates the gates from it.

mod validate;

pub(super) use self::validate::suspects;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use http::Method;
use waiting_room_core::gate::{AdaptiveLimit, Discipline, GateRules, Tenants};

use super::options::{ClientDeadline, GateStatuses, ReleaseAt};
use crate::request::{Key, Matcher, MissingKey, PathRule, RequestHead, Scope};

/// A gate: a limit on the number of requests that run at once, with rules for the requests that
/// wait.
///
/// ```
/// use std::time::Duration;
/// use tower_waiting_room::{Concurrency, Key, WaitingRoomConfig};
///
/// let config = WaitingRoomConfig::builder("api")
///     // 64 at once and 256 waiting; of those at most 8 from one tenant, and 2 conversions.
///     .concurrency(Concurrency::limit(64).queue(256).max_wait(Duration::from_secs(2)))
///     .concurrency(Concurrency::limit(8).name("tenant").for_each(Key::header("x-api-key")))
///     .concurrency(Concurrency::limit(2).name("convert").path("/convert"))
///     .build()?;
/// # let _ = config;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
///
/// A request needs a permit from every gate that covers it. It takes the permits in this order:
/// first from gates for each value of a key, then from gates for some requests only, and last from
/// the gate for all requests. So a request that waits for its own tenant's permit does not hold a
/// permit that all requests share. A request waits at one gate at a time.
///
/// The limit counts the requests of one process: with N nodes behind a load balancer, the service
/// as a whole runs up to N times as many.
#[derive(Clone)]
#[must_use]
pub struct Concurrency {
    /// Identifies the gate in headers, metrics and the operator's handle.
    pub(crate) name: Cow<'static, str>,
    /// The limit, the queue and the discipline, for core.
    pub(crate) rules: GateRules,
    /// The requests that the gate covers; `None` for all.
    pub(crate) scope: Option<Scope>,
    /// The key, each value of which has its own gate; `None` for a single gate.
    pub(crate) for_each: Option<Key>,
    /// How to treat requests without the key of `for_each`.
    pub(crate) missing_key: MissingKey,
    /// The key by which waiting requests take turns; only with `Discipline::FairByTenant`.
    pub(crate) fair_by: Option<Key>,
    /// The priority of a request; only with `Discipline::Priority`.
    pub(crate) class: Option<Arc<Class>>,
    /// Makes the adaptive limit, in its initial state; `None` for a fixed limit.
    pub(crate) adaptive: Option<Arc<Adaptive>>,
    pub(crate) release_at: ReleaseAt,
    /// The sweeper takes the permit back once the response has not been read for this time.
    pub(crate) body_stall: Option<Duration>,
    /// The request's body fails once the application has waited this long for a frame.
    pub(crate) body_read_timeout: Option<Duration>,
    /// The sweeper takes the permit back after this time in any case.
    pub(crate) max_hold: Option<Duration>,
    /// The number of bytes read from the body of each waiting request; with 0, no body is read.
    pub(crate) watched_bytes: usize,
    /// The headers that state a deadline. The first one is always `ClientDeadline::Grpc`.
    pub(crate) deadlines: Vec<ClientDeadline>,
    pub(crate) statuses: GateStatuses,
}

type Adaptive = dyn Fn() -> Box<dyn AdaptiveLimit> + Send + Sync;
type Class = dyn Fn(&RequestHead<'_>) -> u8 + Send + Sync;

impl Concurrency {
    /// The minimum limit of an adaptive gate. At zero the gate would get no samples and never
    /// recover.
    pub(super) const LEAST: u32 = 1;
    /// The default of [`watched_bytes`](Self::watched_bytes): 32 KiB.
    pub const WATCHED_BYTES: usize = 32 * 1024;
    /// The maximum of [`watched_bytes`](Self::watched_bytes): 1 MiB.
    pub const MAX_WATCHED_BYTES: usize = 1024 * 1024;
    /// The default of [`body_stall`](Self::body_stall): 30 s.
    pub const BODY_STALL: Duration = Duration::from_secs(30);
    /// The default of [`body_read_timeout`](Self::body_read_timeout): 30 s.
    pub const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);

    /// Creates a gate that runs at most `limit` requests at once. By default, up to 1 024 more
    /// requests wait for up to 5 s, in order of arrival and with controlled delay
    /// ([`Discipline::ControlledDelay`]).
    ///
    /// With 0 the gate is closed, and with `None` it has no limit. Both are meant for a gate whose
    /// limit is set later through the [handle](crate::handle::GateHandle::set_limit).
    pub fn limit(limit: impl Into<Option<u32>>) -> Self {
        Self {
            name: "gate".into(),
            rules: GateRules::new(0).limit(limit),
            scope: None,
            for_each: None,
            missing_key: MissingKey::default(),
            fair_by: None,
            class: None,
            adaptive: None,
            release_at: ReleaseAt::default(),
            body_stall: Some(Self::BODY_STALL),
            body_read_timeout: Some(Self::BODY_READ_TIMEOUT),
            max_hold: None,
            watched_bytes: Self::WATCHED_BYTES,
            // Honored by default: a gRPC client sends its timeout unasked, and stops waiting once
            // the timeout has passed.
            deadlines: vec![ClientDeadline::Grpc],
            statuses: GateStatuses::default(),
        }
    }

    /// Creates a gate whose limit is set by `limit`, based on how long requests hold their permits
    /// and how they end.
    ///
    /// A response with status 503 or 504 counts as overloaded, and so does a request that the
    /// application marks with [`PermitHandle::overloaded`](super::PermitHandle::overloaded). A
    /// request that fails, or whose client disconnects, is not sampled. The gate runs at least one
    /// request at a time, whatever `limit` returns: at zero it would get no more samples.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_waiting_room::{Concurrency, gate::{AdaptiveRules, Gradient2}};
    ///
    /// let rules = AdaptiveRules::new().max(100).latency_target(Duration::from_millis(250));
    /// let gate = Concurrency::adaptive(Gradient2::new(rules)?).queue(64);
    /// # let _ = gate;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    pub fn adaptive(limit: impl AdaptiveLimit + Clone + Sync) -> Self {
        let gate = Self::limit(limit.limit().max(Self::LEAST));
        Self { adaptive: Some(Arc::new(move || Box::new(limit.clone()))), ..gate }
    }

    /// Sets the name of the gate in headers, logs and metrics. Default: `gate`. Each gate of a
    /// layer must have a different name.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets how many requests may wait. Default: 1 024. With 0 no request waits; the maximum is
    /// [`GateRules::MAX_QUEUE`].
    ///
    /// The queue absorbs bursts and bounds memory; the discipline and [`max_wait`](Self::max_wait)
    /// determine how long a request waits. With [`for_each`](Self::for_each), each gate has a queue
    /// of this length. See [`GateRules::queue`].
    pub fn queue(self, queue: u32) -> Self {
        self.rules(|rules| rules.queue(queue))
    }

    /// Sets the longest time that a request waits. Default: 5 s; more than zero and up to 1 h.
    ///
    /// Keep it below the time after which clients and proxies give up: serving a request later than
    /// that is wasted work. See [`GateRules::max_wait`].
    pub fn max_wait(self, max_wait: Duration) -> Self {
        self.rules(|rules| rules.max_wait(max_wait))
    }

    /// Sets the order in which waiting requests are served, and how their waits are shortened under
    /// overload. Default: [`Discipline::ControlledDelay`] with a target of 100 ms and an interval
    /// of 1 s.
    ///
    /// [`fair_by`](Self::fair_by) and [`classes`](Self::classes) set their own discipline;
    /// replacing it with a different one afterwards is an error.
    pub fn discipline(self, discipline: Discipline) -> Self {
        self.rules(|rules| rules.discipline(discipline))
    }

    /// Sets the maximum retry delay that a refused client is given. Default: 60 s. See
    /// [`GateRules::longest_retry`].
    pub fn longest_retry(self, longest: Duration) -> Self {
        self.rules(|rules| rules.longest_retry(longest))
    }

    /// Lets waiting requests take turns by this key, so that no tenant can monopolize the queue.
    /// Default: one queue for all requests.
    ///
    /// Use a key that clients cannot make up, such as an account. If they can make it up, as with a
    /// header that the service does not verify, [`Tenants::Shuffled`] bounds what a client gains by
    /// using many values. Requests without the key take turns by address.
    ///
    /// This discipline does not shorten waits under overload: set [`max_wait`](Self::max_wait) to a
    /// second or less.
    pub fn fair_by(mut self, key: Key, tenants: Tenants) -> Self {
        self.fair_by = Some(key);
        self.discipline(Discipline::FairByTenant(tenants))
    }

    /// Serves waiting requests by class, the lowest number first. Default: one class.
    ///
    /// - `class` returns the class of a request. A number above the last class counts as the last
    ///   class.
    /// - `reserved` has an entry for each of the 1 to 16 classes: the number of permits for which
    ///   this class is served first. Other classes may use the permits that it does not need. The
    ///   sum of all entries is at most the limit.
    /// - `aging` is the time after which a waiting request moves up to the next lower class number,
    ///   so that no class starves; more than zero and up to 1 h.
    ///
    /// This discipline does not shorten waits under overload: set [`max_wait`](Self::max_wait) to a
    /// second or less.
    pub fn classes(
        mut self,
        reserved: impl IntoIterator<Item = u32>,
        aging: Duration,
        class: impl Fn(&RequestHead<'_>) -> u8 + Send + Sync + 'static,
    ) -> Self {
        self.class = Some(Arc::new(class));
        let reserved = reserved.into_iter().collect();
        self.discipline(Discipline::Priority { reserved, aging })
    }

    /// Creates a gate for each value of this key, instead of one gate for all requests.
    ///
    /// A gate exists only while a request uses it, so memory is bounded by the number of requests
    /// in progress. If clients can make up values, also add a gate without a key: each new value
    /// starts with an unused limit.
    pub fn for_each(mut self, key: Key) -> Self {
        self.for_each = Some(key);
        self
    }

    /// Sets how to treat requests that lack the key of [`for_each`](Self::for_each). Default:
    /// [`MissingKey::Address`], a gate for each client address.
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// Restricts the gate to requests with one of these methods. `GET` includes `HEAD`.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Scope::add_methods(&mut self.scope, methods);
        self
    }

    /// Restricts the gate to requests for exactly this path, as this layer sees it and in any of
    /// its equivalent spellings: see [`RateLimit::path`](crate::RateLimit::path).
    pub fn path(self, path: impl Into<String>) -> Self {
        self.only(Matcher::Path(PathRule::exact(path.into())))
    }

    /// Restricts the gate to requests whose path has this prefix, in any of its equivalent
    /// spellings. `/reports/` covers `/reports` too.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        self.only(Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Restricts the gate to requests for which the closure returns true.
    pub fn when(self, test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.only(Matcher::When(Arc::new(test)))
    }

    /// Sets when the permit is released. Default: [`ReleaseAt::BodyEnd`].
    pub fn release_at(mut self, at: ReleaseAt) -> Self {
        self.release_at = at;
        self
    }

    /// Releases the permit of a response that has not been read for this time: the body has more
    /// frames, but the server does not poll for them because its client does not read. Default: 30
    /// s. The value is from 100 ms to 24 h, or `None` for no limit.
    ///
    /// The response itself is not interrupted. It continues without a permit, in addition to the
    /// requests that the gate counts.
    pub fn body_stall(mut self, stall: impl Into<Option<Duration>>) -> Self {
        self.body_stall = stall.into();
        self
    }

    /// Bounds the time for which the application waits for the next frame of a request's body.
    /// Default: 30 s. The value is from 100 ms to 24 h, or `None` for no bound. If a request passes
    /// several gates, the shortest bound applies.
    ///
    /// If the client sends nothing for that time while the application reads, the body ends with a
    /// `BodyReadTimeout`. The application then answers, and the permit is released. As with nginx's
    /// `client_body_timeout`, the bound applies to the time between two frames, not to the whole
    /// body: a client that sends a byte now and then holds its permit until the application stops
    /// reading, or until [`max_hold`](Self::max_hold).
    ///
    /// Set `None` for streams whose clients may be silent for longer by design, such as an
    /// open-ended upload of events.
    ///
    /// Requires axum's body type and the feature `axum`, since the layer cannot wrap any other
    /// body. For other body types, set a timeout in the server or in a layer inside this one.
    pub fn body_read_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.body_read_timeout = timeout.into();
        self
    }

    /// Releases the permit after this time unconditionally. Default: `None`, for no limit. The
    /// value is from 100 ms to 24 h. The request is not interrupted; it continues without a permit.
    ///
    /// Without this limit, a client can hold a permit for as long as it likes, by sending its body
    /// one byte at a time, each within [`body_read_timeout`](Self::body_read_timeout). To prevent
    /// that, set `max_hold`, or have the application set a timeout for the whole body.
    pub fn max_hold(mut self, max_hold: impl Into<Option<Duration>>) -> Self {
        self.max_hold = max_hold.into();
        self
    }

    /// Sets how many bytes of a request's body are read while the request waits, to detect that the
    /// client has disconnected. Default: 32 KiB; at most 1 MiB. With 0 the body is not read.
    ///
    /// An HTTP/1 server notices that a connection is closed only when the body is read. Otherwise a
    /// request whose client has disconnected keeps waiting, and then runs to no purpose. A queue
    /// holds at most this many bytes of body data for each waiting request.
    ///
    /// Requires axum's body type and the feature `axum`. If a client expects `100 Continue`, its
    /// body is not read while the request waits, because reading would prompt the client to send
    /// it.
    pub fn watched_bytes(mut self, bytes: usize) -> Self {
        self.watched_bytes = bytes;
        self
    }

    /// Adds a header in which clients state how long they will wait for the response.
    /// `grpc-timeout` is always honored; if a request has several such headers, the shortest time
    /// applies.
    pub fn client_deadline(mut self, deadline: ClientDeadline) -> Self {
        self.deadlines.push(deadline);
        self
    }

    /// Sets the statuses of responses to refused requests. Default: [`GateStatuses::Limiter`].
    pub fn statuses(mut self, statuses: GateStatuses) -> Self {
        self.statuses = statuses;
        self
    }

    /// Returns the rank of this gate. Requests pass gates in order of rank, lowest first: gates by
    /// key, gates for some requests, then gates for all requests.
    pub(crate) fn rank(&self) -> u8 {
        match (&self.for_each, self.is_for_all()) {
            (Some(_), _) => 0,
            (None, false) => 1,
            (None, true) => 2,
        }
    }

    /// Returns whether the gate covers all requests.
    pub(crate) fn is_for_all(&self) -> bool {
        self.scope.is_none()
    }

    /// Adds a condition. The gate covers only requests that meet all conditions.
    fn only(mut self, matcher: Matcher) -> Self {
        Scope::add(&mut self.scope, matcher);
        self
    }

    fn rules(mut self, change: impl FnOnce(GateRules) -> GateRules) -> Self {
        self.rules = change(self.rules);
        self
    }
}

impl fmt::Debug for Concurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Concurrency")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .field("scope", &self.scope)
            .field("for_each", &self.for_each)
            .finish_non_exhaustive()
    }
}
