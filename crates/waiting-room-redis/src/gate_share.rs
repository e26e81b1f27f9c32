//! A concurrency limit for many nodes, each of which has a share of the total.
//!
//! ```text
//!              every 250 ms: current limit, in flight, waiting
//!   node A ───────────────────────────────────────────────► ┌────────┐
//!   limit 30 ◄──────────────────────────────────────────────│ server │
//!   node B ───────────────────────────────────────────────► │ total  │
//!   limit 70 ◄──────────────────────────────────────────────│  100   │
//!                            share, leased for 3 s          └────────┘
//! ```
//!
//! The script in `lua/share.lua` gives no node more than the other nodes leave of the total. A node
//! whose share shrinks first receives a lower limit. The difference goes to other nodes only once
//! the node has reported that it applies the lower limit and its requests above that limit have
//! finished.
//!
//! This module contains no gate. The application applies each share to its own gate.

use std::{fmt, future::Future, num::NonZeroU32, sync::Arc, time::Duration};

use redis::{RedisResult, Script, aio::ConnectionLike};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use waiting_room_core::{
    ConfigError, StoreError,
    error::{ConfigErrorKind, StoreErrorKind},
};

use crate::{
    connections::{CONNECT_DEADLINE, Connections, check_eviction, is_away, unavailable},
    keys,
    options::RedisStoreOptions,
    reply::ReplyFields,
};

/// A node's share of a concurrency limit that applies to all nodes together.
///
/// Each node has its own gate, whose limit is the node's share, so a request for which a permit is
/// free needs no round trip. Four times a second, the node reports how many requests are running
/// and waiting, and receives a share that depends on the demand of all nodes.
///
/// The total is never exceeded, however the load moves between nodes, with two exceptions. First,
/// the total can be exceeded while the server is unreachable, as [`GateStoreFailure`] describes.
/// Second, if the server has lost its data, it may grant permits to one node that another node is
/// still using, until every node has renewed its share.
///
/// ```no_run
/// # use waiting_room_redis::{Demand, GateShare, GateStoreFailure, RedisStoreOptions};
/// # async fn run(
/// #     client: redis::Client,
/// #     demand: impl Fn() -> Demand,
/// #     set_limit: impl Fn(u32),
/// # ) -> Result<(), waiting_room_core::StoreError> {
/// # let total = std::num::NonZeroU32::MIN;
/// let open = move || {
///     let client = client.clone();
///     async move { client.get_multiplexed_async_connection().await }
/// };
/// let options = RedisStoreOptions::new();
/// let mut share = GateShare::connect(open, "checkout", total, GateStoreFailure::LocalShare, options).await?;
/// // A gate starts with a limit of zero, and receives its share with the first renewal.
/// loop {
///     set_limit(share.renew(demand()).await);
///     tokio::time::sleep(share.until_next()).await;
/// }
/// # }
/// ```
pub struct GateShare<C> {
    connections: Arc<Connections<C>>,
    script: Script,
    key: String,
    /// The maximum duration of a renewal.
    deadline: Duration,
    /// The random name that identifies this node among the nodes that share the gate.
    node: String,
    /// The limit for all nodes together, as configured on this node.
    total: NonZeroU32,
    on_failure: GateStoreFailure,
    /// The share that this node may use now.
    share: u32,
    /// The sequence number of the last renewal, which lets the server ignore a renewal that arrives
    /// late.
    renewals: u64,
    /// The time at which the last successful renewal was sent, or `None` before the first
    /// successful renewal.
    renewed: Option<Instant>,
    /// The time at which the last successful renewal was sent or the last attempt to reconnect
    /// began, whichever is later.
    heard: Instant,
    /// The task of the last attempt to open another connection, if there was an attempt.
    replacing: Option<JoinHandle<bool>>,
}

/// The number of requests at a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a request at a gate either runs or waits")]
pub struct Demand {
    /// The number of requests that are running.
    pub in_flight: u32,
    /// The number of requests that are waiting for a permit.
    pub queued: u32,
}

/// What happens to a node's share when its lease has ended and the store does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the node keeps its share or gives it up")]
pub enum GateStoreFailure {
    /// The node's share stays the same. While no node can reach the store, no share grows, so the
    /// total is not exceeded. If only one node is cut off, its share is also given to the other
    /// nodes, and the total is exceeded by up to that share.
    LocalShare,
    /// The node's share becomes zero shortly before the server gives it to other nodes, and no new
    /// request runs. The total is exceeded only by requests that run longer than the lease.
    Refuse,
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> GateShare<C> {
    /// The time for which the server reserves a share for a node that does not renew it, 3 s.
    pub const LEASE: Duration = Duration::from_secs(3);
    /// The time between two renewals, 250 ms.
    pub const RENEWED_EVERY: Duration = Duration::from_millis(250);
    /// The maximum [`deadline`](RedisStoreOptions::deadline) of a renewal, 1 s, so that a lease
    /// outlasts failed renewals.
    pub const LONGEST_DEADLINE: Duration = Duration::from_secs(1);
    /// The time without a successful renewal after which another connection is opened.
    const DEAF_AFTER: Duration = Duration::from_secs(1);

    /// Joins the gate with this name. The node's share is zero until its first renewal.
    ///
    /// The name consists of 1 to 64 letters, digits, `-` and `_`. `total` is the limit for all
    /// nodes together, and every node should pass the same value. `open` is called immediately, and
    /// again when no renewal has succeeded for a second. If the server cannot be reached within 5
    /// s, the node starts without it.
    ///
    /// In `options`, the deadline applies to each renewal and the prefix to the key. The clock is
    /// ignored, because a gate always uses the server's clock.
    ///
    /// # Errors
    ///
    /// Returns an error if the name or the options are invalid, if the deadline exceeds
    /// [`LONGEST_DEADLINE`](Self::LONGEST_DEADLINE), if the server is reached but refuses the node,
    /// or if the server may evict keys.
    pub async fn connect<F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        gate: &str,
        total: NonZeroU32,
        on_failure: GateStoreFailure,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let (key, deadline) = Self::validate(gate, options)?;
        let connections = Connections::opened(open).await?;
        Self::start(connections, key, deadline, total, on_failure).await
    }

    /// Joins the gate over an existing connection, which must reconnect by itself.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`connect`](Self::connect).
    pub async fn with_connection(
        connection: C,
        gate: &str,
        total: NonZeroU32,
        on_failure: GateStoreFailure,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError> {
        let (key, deadline) = Self::validate(gate, options)?;
        Self::start(Connections::only(connection), key, deadline, total, on_failure).await
    }

    async fn start(
        connections: Arc<Connections<C>>,
        key: String,
        deadline: Duration,
        total: NonZeroU32,
        on_failure: GateStoreFailure,
    ) -> Result<Self, StoreError> {
        let checked = match connections.current() {
            Ok(mut connection) => check_memory(&mut connection, &key).await,
            Err(error) => Err(error),
        };
        // An unreachable server is not an error, because the first successful renewal obtains a
        // share.
        match checked {
            Err(error) if !is_away(&error) => return Err(error),
            _ => {}
        }
        Ok(Self {
            connections,
            script: Script::new(include_str!("lua/share.lua")),
            key,
            deadline,
            node: keys::node_id(),
            total,
            on_failure,
            share: 0,
            renewals: 0,
            renewed: None,
            heard: Instant::now(),
            replacing: None,
        })
    }

    /// Changes the total, starting with the next renewal.
    ///
    /// Call this method on all nodes, because each renewal uses the total of the node that sends
    /// it.
    pub fn set_total(&mut self, total: NonZeroU32) {
        self.total = total;
    }

    /// Reports this node's demand and returns the limit that its gate must apply now.
    ///
    /// Read the demand after the previous limit has been applied, because permits that the report
    /// leaves unused are given to other nodes. If the server does not reply, the call returns after
    /// the deadline. When no renewal has succeeded for a second, another connection is opened in
    /// the background.
    ///
    /// # Cancel safety
    ///
    /// A renewal may have taken effect even if its future was dropped. The next renewal sends
    /// another complete report.
    pub async fn renew(&mut self, demand: Demand) -> u32 {
        let sent = Instant::now();
        match self.ask(demand).await {
            Ok(share) => (self.share, self.renewed, self.heard) = (share, Some(sent), sent),
            Err(error) => {
                let kept_for = self.kept_for();
                let is_over = self.renewed.is_none_or(|renewed| renewed.elapsed() >= kept_for);
                tracing::debug!(gate = self.key, %error, is_over, "a share was not renewed");
                if is_over && self.on_failure == GateStoreFailure::Refuse {
                    self.share = 0;
                }
                self.replace_if_deaf();
            }
        }
        self.share
    }

    /// Returns how long to wait before the next renewal.
    #[must_use]
    pub const fn until_next(&self) -> Duration {
        Self::RENEWED_EVERY
    }

    /// Checks the name and the options, and returns the key of the gate and the deadline of a
    /// renewal.
    fn validate(gate: &str, options: RedisStoreOptions) -> Result<(String, Duration), ConfigError> {
        let RedisStoreOptions { deadline, prefix, .. } = options.validate()?;
        if deadline > Self::LONGEST_DEADLINE {
            let given = format_args!("{deadline:?}");
            let expected = format_args!("at most {:?}", Self::LONGEST_DEADLINE);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "deadline", given, expected));
        }
        Ok((keys::of_gate(&prefix, &keys::validate_name(gate.to_owned())?), deadline))
    }

    /// Returns how long a share may be used without a successful renewal under
    /// [`GateStoreFailure::Refuse`].
    ///
    /// The returned time is shorter than the lease. A node whose share is still valid at one
    /// renewal checks its share again only after the next pause and a failed renewal, and the
    /// server must not have given the share to other nodes by then. The second pause is a margin
    /// for a busy machine that runs late.
    fn kept_for(&self) -> Duration {
        Self::LEASE.saturating_sub(2 * Self::RENEWED_EVERY + self.deadline)
    }

    /// Opens another connection in the background if no renewal has succeeded for a second.
    ///
    /// There is at most one attempt at a time, and attempts begin at least a second apart.
    fn replace_if_deaf(&mut self) {
        let is_replacing = self.replacing.as_ref().is_some_and(|task| !task.is_finished());
        if self.heard.elapsed() >= Self::DEAF_AFTER && !is_replacing {
            self.heard = Instant::now();
            let connections = Arc::clone(&self.connections);
            self.replacing = Some(tokio::spawn(async move { connections.replace().await }));
        }
    }

    /// Sends one renewal and returns the share that the server grants.
    async fn ask(&mut self, Demand { in_flight, queued }: Demand) -> Result<u32, StoreError> {
        self.renewals += 1;
        let mut invocation = self.script.key(&self.key);
        invocation
            .arg(&self.node)
            .arg(self.total.get())
            .arg(self.share)
            .arg(in_flight)
            .arg(in_flight.saturating_add(queued))
            .arg(u64::try_from(Self::LEASE.as_micros()).unwrap_or(u64::MAX))
            .arg(self.renewals);
        let mut connection = self.connections.current()?;
        match timeout(self.deadline, invocation.invoke_async(&mut connection)).await {
            Ok(share) => share.map_err(|error| unavailable(&error)),
            Err(_) => Err(StoreError::new(StoreErrorKind::Timeout)),
        }
    }
}

impl<C> fmt::Debug for GateShare<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateShare")
            .field("key", &self.key)
            .field("total", &self.total)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

/// Checks that the server that stores `key` does not evict keys.
async fn check_memory<C: ConnectionLike>(connection: &mut C, key: &str) -> Result<(), StoreError> {
    let script = Script::new(include_str!("lua/memory.lua"));
    let invocation = script.key(key);
    let value = timeout(CONNECT_DEADLINE, invocation.invoke_async(connection)).await;
    let value = value.map_err(|_| StoreError::new(StoreErrorKind::Timeout))?;
    let mut said = ReplyFields::of(value.map_err(|error| unavailable(&error))?)?;
    check_eviction(&said.text()?, &said.text()?)
}
