//! A limit on concurrency as the user writes it.

mod validate;

pub(super) use self::validate::suspects;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use http::Method;
use waiting_room_core::{AdaptiveLimit, Discipline, GateRules, Tenants};

use super::options::{ClientDeadline, GateStatuses, ReleaseAt};
use crate::request::{Key, Matcher, MissingKey, PathRule, RequestHead, Scope};

/// How many requests run at once, and what becomes of the others.
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
/// A request goes through every gate that is meant for it: those for each value of a key first,
/// then those for some requests only, and the one for all at last, so that whoever waits for a
/// permit of its own does not hold one of everybody's. It waits at one gate at a time.
#[derive(Clone)]
#[must_use]
pub struct Concurrency {
    pub(crate) name: Cow<'static, str>,
    pub(crate) rules: GateRules,
    /// The requests that go through it; `None` for all.
    pub(crate) scope: Option<Scope>,
    pub(crate) for_each: Option<Key>,
    pub(crate) missing_key: MissingKey,
    pub(crate) fair_by: Option<Key>,
    pub(crate) class: Option<Arc<Class>>,
    pub(crate) adaptive: Option<Arc<Adaptive>>,
    pub(crate) release_at: ReleaseAt,
    pub(crate) body_stall: Option<Duration>,
    pub(crate) body_read_timeout: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) watched_bytes: usize,
    pub(crate) deadlines: Vec<ClientDeadline>,
    pub(crate) statuses: GateStatuses,
}

type Adaptive = dyn Fn() -> Box<dyn AdaptiveLimit> + Send + Sync;
type Class = dyn Fn(&RequestHead<'_>) -> u8 + Send + Sync;

impl Concurrency {
    /// With none to run, an adaptive limit would get no samples, and never recover.
    pub(super) const LEAST: u32 = 1;
    /// How many bytes of a body are read while a request waits, by default.
    pub const WATCHED_BYTES: usize = 32 * 1024;
    /// The most bytes that may be.
    pub const MAX_WATCHED_BYTES: usize = 1024 * 1024;
    /// For how long nobody has to read a body until its permit is free, by default.
    pub const BODY_STALL: Duration = Duration::from_secs(30);
    /// For how long an application waits for the next frame of a request's body, by default.
    pub const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);

    /// At most so many run at once; 1 024 more wait for at most 5 s, by controlled delay. With 0 the
    /// gate is closed, and with `None` it lets everybody in, until the
    /// [handle](crate::WaitingRoomHandle::set_concurrency) says otherwise.
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
            deadlines: vec![ClientDeadline::Grpc],
            statuses: GateStatuses::default(),
        }
    }

    /// As many run at once as the `limit` finds out to be right, from how long they hold their
    /// permits and how it ends. A response with 503 or 504, or a request of which the application
    /// says so by its [`PermitHandle`](super::PermitHandle::overloaded), counts as overloaded; one
    /// whose client leaves or that fails does not count. One may run at least, whatever the limit says:
    /// with none it would hear nothing more.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_waiting_room::{Concurrency, Gradient2, AdaptiveRules};
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

    /// The name in headers, logs and metrics; `gate` by default.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// See [`GateRules::queue`].
    pub fn queue(self, queue: u32) -> Self {
        self.rules(|rules| rules.queue(queue))
    }

    /// See [`GateRules::max_wait`].
    pub fn max_wait(self, max_wait: Duration) -> Self {
        self.rules(|rules| rules.max_wait(max_wait))
    }

    /// In which order those who wait go; [`fair_by`](Self::fair_by) and [`classes`](Self::classes)
    /// choose one themselves.
    pub fn discipline(self, discipline: Discipline) -> Self {
        self.rules(|rules| rules.discipline(discipline))
    }

    /// See [`GateRules::longest_retry`].
    pub fn longest_retry(self, longest: Duration) -> Self {
        self.rules(|rules| rules.longest_retry(longest))
    }

    /// Those who wait take turns by this key, so that none of them can take the queue for itself.
    ///
    /// Best is a key that clients cannot make up, such as an account. Where they can, as with a header
    /// that nobody checks, [`Tenants::Shuffled`] bounds what is gained by it. Nobody is shed: set
    /// [`max_wait`](Self::max_wait) to a second or less.
    pub fn fair_by(mut self, key: Key, tenants: Tenants) -> Self {
        self.fair_by = Some(key);
        self.discipline(Discipline::FairByTenant(tenants))
    }

    /// Those who wait go by class: 0 first. `reserved` says for each class how many of the permits
    /// it is served first for; after each `aging` a waiter counts as one class lower. Nobody is shed:
    /// set [`max_wait`](Self::max_wait) to a second or less.
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

    /// A gate for each value of this key, instead of one. Values that clients make up need one for all
    /// requests as well.
    pub fn for_each(mut self, key: Key) -> Self {
        self.for_each = Some(key);
        self
    }

    /// What happens to requests without the key of [`for_each`](Self::for_each).
    /// [`MissingKey::Address`].
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// Only requests of one of these methods. `GET` stands for `HEAD` too.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Scope::add_methods(&mut self.scope, methods);
        self
    }

    /// Only requests for exactly this path, as this layer sees it and however it is written: see
    /// [`RateLimit::path`](crate::RateLimit::path).
    pub fn path(self, path: impl Into<String>) -> Self {
        self.only(Matcher::Path(PathRule::exact(path.into())))
    }

    /// Only requests for a path that begins so, however it is written. `/reports/` covers `/reports`
    /// too.
    pub fn path_prefix(self, prefix: impl Into<String>) -> Self {
        self.only(Matcher::Path(PathRule::prefix(prefix.into())))
    }

    /// Only requests of which the closure says so.
    pub fn when(self, test: impl Fn(&RequestHead<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.only(Matcher::When(Arc::new(test)))
    }

    /// For how long the permit is held. [`ReleaseAt::BodyEnd`].
    pub fn release_at(mut self, at: ReleaseAt) -> Self {
        self.release_at = at;
        self
    }

    /// After how long a permit is free whose response nobody reads: frames are there, and the server
    /// does not ask for them. 30 s; `None` for never, 24 h at most. The response goes on, unlimited.
    pub fn body_stall(mut self, stall: impl Into<Option<Duration>>) -> Self {
        self.body_stall = stall.into();
        self
    }

    /// For how long an application waits for the next frame of a request's body. 30 s; `None` for as
    /// long as the client likes, 100 ms to 24 h. Of several gates, the shortest counts.
    ///
    /// When the client has sent nothing for that long while the application reads, the body ends with
    /// a `BodyReadTimeout`; the application answers, and the permit is free. The time between
    /// two frames is what counts, as with nginx's `client_body_timeout`, not that of the whole body:
    /// a client that sends a byte now and then holds its permit until the application has had enough
    /// of it, or [`max_hold`](Self::max_hold).
    ///
    /// A stream whose client may be silent for longer by design, such as an open-ended upload of events,
    /// needs `None`.
    ///
    /// Needs a body of axum and the feature `axum`, since no other body can be put together again;
    /// for others, set a timeout in the server or in a layer inside of this one.
    pub fn body_read_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.body_read_timeout = timeout.into();
        self
    }

    /// After how long a permit is free in any case. Never, by default; 24 h at most. The request goes
    /// on, unlimited.
    ///
    /// Without it a client holds its permit for as long as it likes, if it sends the body that the
    /// application waits for a byte at a time, within each
    /// [`body_read_timeout`](Self::body_read_timeout). Against that, set this, or a time limit for the
    /// whole body.
    pub fn max_hold(mut self, max_hold: impl Into<Option<Duration>>) -> Self {
        self.max_hold = max_hold.into();
        self
    }

    /// How many bytes of a request's body are read while it waits, so that a client that leaves is
    /// noticed. 32 KiB; with 0 the body is not touched.
    ///
    /// With HTTP/1 a server does not look at a connection whose body is not read. Needs a body of
    /// axum; a client that expects `100 Continue` is not asked for its body while it waits. Bounds
    /// the memory of a queue to so much for each that waits.
    pub fn watched_bytes(mut self, bytes: usize) -> Self {
        self.watched_bytes = bytes;
        self
    }

    /// Adds a header in which clients say for how long they wait. The `grpc-timeout` is looked at
    /// always.
    pub fn client_deadline(mut self, deadline: ClientDeadline) -> Self {
        self.deadlines.push(deadline);
        self
    }

    /// Which status a request gets that is not let in. [`GateStatuses::Limiter`].
    pub fn statuses(mut self, statuses: GateStatuses) -> Self {
        self.statuses = statuses;
        self
    }

    /// At which place among the gates of a request it stands.
    pub(crate) fn rank(&self) -> u8 {
        match (&self.for_each, self.is_for_all()) {
            (Some(_), _) => 0,
            (None, false) => 1,
            (None, true) => 2,
        }
    }

    /// Whether all requests go through it.
    pub(crate) fn is_for_all(&self) -> bool {
        self.scope.is_none()
    }

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
