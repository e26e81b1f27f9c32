//! The configuration of a gate: [`Concurrency`] and its options.
//!
//! A `Concurrency` only describes a gate: it has no state and can be cloned. The method `validate`
//! checks the description when the configuration is built, and `gate/registry.rs` creates the gates
//! from it.

mod validate;

pub(super) use self::validate::suspects;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use http::Method;
use waiting_room_core::gate::{AdaptiveLimit, Discipline, GateRules, SharedConcurrency, Tenants};

use super::options::{ClientDeadline, GateStatuses, ReleaseAt};
use crate::request::{Key, Matcher, MinRate, MissingKey, PathRule, RequestHead, Scope};

/// A gate: a limit on the number of requests that run at once, with rules for the requests that
/// wait.
///
/// ```
/// use std::time::Duration;
/// use tower_waiting_room::{Concurrency, Key, WaitingRoomConfig};
///
/// let config = WaitingRoomConfig::builder("api")
///     // 64 requests run at once and 256 wait. At most 8 of one tenant and 2 conversions run.
///     .concurrency(Concurrency::limit(64).queue(256).max_wait(Duration::from_secs(2)))
///     .concurrency(Concurrency::limit(8).name("tenant").for_each(Key::header("x-api-key")))
///     .concurrency(Concurrency::limit(2).name("convert").path("/convert"))
///     .build()?;
/// # let _ = config;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
///
/// A request needs a permit from every gate that covers it. The permits are taken in a fixed order:
/// first from gates with a key, then from gates that cover only some requests, and last from gates
/// that cover all requests. A request that waits for its tenant's permit therefore holds no permit
/// that all requests share. A request waits at only one gate at a time.
///
/// The limit applies to the requests of one process. With N nodes behind a load balancer, the
/// service as a whole runs up to N times as many requests, unless the limit is
/// [shared](Self::shared).
#[derive(Clone)]
#[must_use]
pub struct Concurrency {
    /// The name of the gate in headers, metrics and the operator's handle.
    pub(crate) name: Cow<'static, str>,
    /// The limit, the queue and the discipline, which the core crate implements.
    pub(crate) rules: GateRules,
    /// The requests that the gate covers, or `None` if it covers all requests.
    pub(crate) scope: Option<Scope>,
    /// The key that selects a separate gate for each of its values, or `None` for a single gate.
    pub(crate) for_each: Option<Key>,
    /// The treatment of requests that lack the key of `for_each`.
    pub(crate) missing_key: MissingKey,
    /// The key by which waiting requests take turns, set only with `Discipline::FairByTenant`.
    pub(crate) fair_by: Option<Key>,
    /// The closure that returns the priority of a request, set only with `Discipline::Priority`.
    pub(crate) class: Option<Arc<Class>>,
    /// The closure that creates the adaptive limit in its initial state, or `None` for a fixed
    /// limit.
    pub(crate) adaptive: Option<Arc<Adaptive>>,
    /// The limit for all nodes, of which the gate has a share, or `None` for a limit of this node.
    pub(crate) shared: Option<Arc<dyn SharedConcurrency>>,
    pub(crate) release_at: ReleaseAt,
    /// The rate at which clients have to send and read bodies, or `None` for any rate.
    pub(crate) min_rate: Option<MinRate>,
    /// The time after which the sweeper takes the permit back unconditionally.
    pub(crate) max_hold: Option<Duration>,
    /// The maximum number of bytes that are read from the body of each waiting request. With 0, no
    /// body is read.
    pub(crate) watched_bytes: usize,
    /// The headers that state a client's deadline. The first entry is always
    /// `ClientDeadline::Grpc`.
    pub(crate) deadlines: Vec<ClientDeadline>,
    pub(crate) statuses: GateStatuses,
}

type Adaptive = dyn Fn() -> Box<dyn AdaptiveLimit> + Send + Sync;
type Class = dyn Fn(&RequestHead<'_>) -> u8 + Send + Sync;

impl Concurrency {
    /// The minimum limit of an adaptive gate. With a limit of zero, the gate would get no samples
    /// and never recover.
    pub(super) const LEAST: u32 = 1;
    /// The default of [`watched_bytes`](Self::watched_bytes): 32 KiB.
    pub const WATCHED_BYTES: usize = 32 * 1024;
    /// The maximum of [`watched_bytes`](Self::watched_bytes): 1 MiB.
    pub const MAX_WATCHED_BYTES: usize = 1024 * 1024;
    /// The default of [`min_rate`](Self::min_rate): 240 bytes per second.
    pub const MIN_RATE: u32 = 240;

    /// Creates a gate that runs at most `limit` requests at once. By default, up to 1 024 more
    /// requests wait for up to 5 s, in order of arrival and with controlled delay
    /// ([`Discipline::ControlledDelay`]). While others wait, an IPv4 address or IPv6 /64 may occupy
    /// at most an eighth of the queue.
    ///
    /// A limit of 0 closes the gate, and `None` removes the limit. These two values are meant for a
    /// gate whose limit is set later through the [handle](crate::handle::GateHandle::set_limit).
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
            shared: None,
            release_at: ReleaseAt::default(),
            min_rate: Some(MinRate(Self::MIN_RATE)),
            max_hold: None,
            watched_bytes: Self::WATCHED_BYTES,
            // `grpc-timeout` is honored by default, because gRPC clients send this header without
            // being configured to, and stop waiting once the timeout has passed.
            deadlines: vec![ClientDeadline::Grpc],
            statuses: GateStatuses::default(),
        }
    }

    /// Creates a gate whose limit is adjusted by `limit`, based on how long requests hold their
    /// permits and how they end.
    ///
    /// A response with status 503 or 504 counts as a sign of overload, and so does a call to
    /// [`PermitHandle::overloaded`](super::PermitHandle::overloaded) by the application. A request
    /// that fails, or whose client disconnects, is not sampled. Whatever `limit` returns, the gate
    /// runs at least one request at a time, because at zero it would get no more samples.
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

    /// Creates a gate whose limit is this node's share of a limit for all nodes, such as a
    /// `GateShare` of the `waiting-room-redis` crate.
    ///
    /// The gate itself renews its share, in a task that reports how many requests run and wait. The
    /// task starts when the layer is created inside a tokio runtime, and otherwise with the first
    /// request. Until the first renewal has returned, the limit is zero and requests wait in the
    /// queue. The limit is also zero while no task runs: without a runtime, or between the shutdown
    /// of the task's runtime and the next request. The task ends when the layer has been
    /// dropped and its last request has ended. What happens while the store is unreachable depends on
    /// the shared limit.
    ///
    /// Each layer that is created from one configuration has a share of its own. A key
    /// ([`for_each`](Self::for_each)) and reserved permits ([`classes`](Self::classes)) cannot be
    /// combined with a shared limit.
    pub fn shared(limit: impl SharedConcurrency) -> Self {
        Self { shared: Some(Arc::new(limit)), ..Self::limit(0) }
    }

    /// Sets the name of the gate in headers, logs and metrics. The default name is `gate`. All
    /// gates of a layer must have different names.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets how many requests may wait. The default is 1 024, and the maximum is 524 287. With 0, no
    /// request waits.
    ///
    /// The queue absorbs bursts and bounds memory, while the discipline and
    /// [`max_wait`](Self::max_wait) determine how long a request waits. With
    /// [`for_each`](Self::for_each), each gate has a queue of this length.
    pub fn queue(self, queue: u32) -> Self {
        self.rules(|rules| rules.queue(queue))
    }

    /// Sets the longest time that a request waits. The default is 5 s. The value must be more than
    /// zero and at most 1 h.
    ///
    /// Keep `max_wait` below the timeouts of clients and proxies: serving a request after its
    /// client has given up is wasted work.
    pub fn max_wait(self, max_wait: Duration) -> Self {
        self.rules(|rules| rules.max_wait(max_wait))
    }

    /// Sets the order in which waiting requests are served, and how their waits are shortened under
    /// overload. The default is [`Discipline::ControlledDelay`] with a target of 100 ms and an
    /// interval of 1 s, with shares by address.
    ///
    /// [`fair_by`](Self::fair_by) and [`classes`](Self::classes) also set the discipline. Replacing
    /// a discipline that was set by one of these options is an error.
    pub fn discipline(self, discipline: Discipline) -> Self {
        self.rules(|rules| rules.discipline(discipline))
    }

    /// Sets the maximum retry delay that is sent to a refused client. The default is 60 s. Clients
    /// that would have to come back even later are asked to come back after exactly this time.
    pub fn longest_retry(self, longest: Duration) -> Self {
        self.rules(|rules| rules.longest_retry(longest))
    }

    /// Lets tenants, the values of this key, take turns in the queue, so that no tenant can
    /// monopolize it. By default, requests do not take turns by tenant.
    ///
    /// Use a key whose values clients cannot invent, such as an account. If clients can invent
    /// values, as with a header that the service does not verify, [`Tenants::Shuffled`] (young, see
    /// [Stability](crate#stability)) bounds what a client gains by using many values. Requests
    /// without the key take turns by address.
    ///
    /// This discipline does not shorten waits under overload, so set [`max_wait`](Self::max_wait)
    /// to one second or less.
    pub fn fair_by(mut self, key: Key, tenants: Tenants) -> Self {
        self.fair_by = Some(key);
        self.discipline(Discipline::FairByTenant(tenants))
    }

    /// Serves waiting requests by class, the lowest class number first. By default, there is only
    /// one class.
    ///
    /// - `class` returns the class of a request. Numbers above the last class are treated as the
    ///   last class.
    /// - `reserved` has one entry for each class, and 1 to 16 entries in total. Each entry is the
    ///   number of permits that are reserved for its class. The class is served first until it uses
    ///   all of them. Other classes may use reserved permits that the class does not need. The sum
    ///   of all entries must not exceed the limit.
    /// - `aging` is the time after which a waiting request moves to the next lower class number, so
    ///   that no class starves. `aging` must be more than zero and at most 1 h.
    ///
    /// This discipline does not shorten waits under overload, so set [`max_wait`](Self::max_wait)
    /// to one second or less.
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
    /// in progress. If clients can invent values, also add a gate without a key, because each new
    /// value starts with an unused limit.
    pub fn for_each(mut self, key: Key) -> Self {
        self.for_each = Some(key);
        self
    }

    /// Sets how requests that lack the key of [`for_each`](Self::for_each) are treated. The default
    /// is [`MissingKey::Address`], which uses one gate for each client address.
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// Restricts the gate to requests with one of these methods. `GET` includes `HEAD`.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Scope::add_methods(&mut self.scope, methods);
        self
    }

    /// Restricts the gate to requests for exactly this path, as the layer sees it and in all
    /// equivalent spellings. See [`RateLimit::path`](crate::RateLimit::path).
    pub fn path(self, path: impl Into<String>) -> Self {
        self.only(Matcher::Path(PathRule::exact(path.into())))
    }

    /// Restricts the gate to requests whose path has this prefix, in all equivalent spellings. The
    /// prefix `/reports/` also covers `/reports`.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        self.only(Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Restricts the gate to requests for which the closure returns true.
    pub fn when(self, test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.only(Matcher::When(Arc::new(test)))
    }

    /// Sets when the permit is released. The default is [`ReleaseAt::BodyEnd`].
    pub fn release_at(mut self, at: ReleaseAt) -> Self {
        self.release_at = at;
        self
    }

    /// Sets how many bytes per second a client has to move while it is awaited. The default is 240.
    /// With `None`, a client may be as slow as it likes.
    ///
    /// A client is awaited while the application waits for the next part of the request's body, and
    /// while a part of the response is ready but the client does not take it.
    /// Time in which the application produces the response, or does not read the request, does not
    /// count. A client may be awaited for 5 s at first, and each byte that it moves adds to this time
    /// according to the rate.
    ///
    /// - If nothing is left of this time, the request's body fails with a
    ///   [`BodyTooSlow`](crate::request::BodyTooSlow), so the application can answer and the permit is
    ///   released. An upload can earn up to 30 s, so a phone in a tunnel has half a minute. If a
    ///   request passes several gates, the highest rate applies.
    /// - A reader may be awaited for 5 s at most. Then the gate takes the permit back, and the
    ///   response continues without it, because a response that is not read costs the application
    ///   little.
    ///
    /// A client that keeps to the rate can hold a permit until its body ends, so bound the length of
    /// bodies, or set [`max_hold`](Self::max_hold). Set `None` for streams whose clients may by design
    /// be silent, such as gRPC calls with a stream of requests.
    ///
    /// For the request's body, this option requires axum's body type and the `axum` feature, because
    /// the layer cannot wrap any other body. For other body types, set a timeout in the server or in
    /// a layer inside this layer.
    pub fn min_rate(mut self, bytes_per_second: impl Into<Option<u32>>) -> Self {
        self.min_rate = bytes_per_second.into().map(MinRate);
        self
    }

    /// Sets the time after which the permit is released unconditionally. The value is between 100
    /// ms and 24 h, or `None` for no limit, which is the default. The request is not interrupted,
    /// but continues without a permit.
    ///
    /// This is the only bound on the time that the application itself holds a permit: while it
    /// works, while it produces a response, and while it keeps a
    /// [`PermitHandle`](super::PermitHandle).
    pub fn max_hold(mut self, max_hold: impl Into<Option<Duration>>) -> Self {
        self.max_hold = max_hold.into();
        self
    }

    /// Sets how many bytes of a request's body are read while the request waits, to detect that the
    /// client has disconnected. The default is 32 KiB, and the maximum is 1 MiB. With 0, the body
    /// is not read.
    ///
    /// An HTTP/1 server notices a closed connection only while it reads the body. If the body were
    /// not read, a request whose client has disconnected would continue to wait, and running it
    /// would then be wasted work. A queue holds at most this many bytes of body data for each
    /// waiting request.
    ///
    /// This option requires axum's body type and the `axum` feature. If a client expects
    /// `100 Continue`, its body is not read while the request waits, because reading would prompt
    /// the client to send the body.
    pub fn watched_bytes(mut self, bytes: usize) -> Self {
        self.watched_bytes = bytes;
        self
    }

    /// Adds a header in which clients specify how long they will wait for the response. The
    /// `grpc-timeout` header is always honored. If a request has several deadline headers, the
    /// shortest time applies.
    ///
    /// Young: deadlines in headers other than `grpc-timeout` may change in any release. See
    /// [Stability](crate#stability).
    pub fn client_deadline(mut self, deadline: ClientDeadline) -> Self {
        self.deadlines.push(deadline);
        self
    }

    /// Sets the status codes of responses to refused requests. The default is
    /// [`GateStatuses::Limiter`].
    pub fn statuses(mut self, statuses: GateStatuses) -> Self {
        self.statuses = statuses;
        self
    }

    /// Returns the rank of this gate. Requests pass gates in ascending order of rank: gates with a
    /// key, then gates for some requests, and last gates for all requests.
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
