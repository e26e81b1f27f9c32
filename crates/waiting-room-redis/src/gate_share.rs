//! One gate for many nodes: each has a share of it.

use std::{fmt, future::Future, num::NonZeroU32, sync::Arc, time::Duration};

use redis::{RedisResult, Script, aio::ConnectionLike};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use waiting_room_core::{ConfigError, ConfigErrorKind, StoreError, StoreErrorKind};

use crate::{
    connections::{CONNECT_DEADLINE, Connections, check_eviction, is_away, unavailable},
    keys,
    options::RedisStoreOptions,
    reply::Fields,
};

/// A node's share of a limit on concurrency that holds for all nodes together.
///
/// Each node has a gate of its own, whose limit is its share: a request that finds a permit asks no
/// server. A few times a second the node tells how many requests run and wait, and gets a share by
/// what all nodes want. So at no time do more run than the total, however the load moves, except
/// where [`GateStoreFailure`] says so, and for a renewal of each node after the server has lost its memory:
/// until all have told what they have, it gives away what others still use.
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
/// let mut share = GateShare::connect(open, "checkout", total, GateStoreFailure::Keep, options).await?;
/// // A gate opens with a limit of zero, and gets its share at once.
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
    deadline: Duration,
    node: String,
    total: NonZeroU32,
    on_loss: GateStoreFailure,
    share: u32,
    renewals: u64,
    /// When the renewal was sent that gave this share.
    renewed: Option<Instant>,
    /// Since when this connection has said nothing.
    heard: Instant,
    replacing: Option<JoinHandle<bool>>,
}

/// How many requests there are at a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "they run or they wait")]
pub struct Demand {
    /// So many run.
    pub in_flight: u32,
    /// So many wait.
    pub queued: u32,
}

/// What becomes of a node's share when its lease is over and the store does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it keeps it or it does not")]
pub enum GateStoreFailure {
    /// It is zero, somewhat before the others are given it: nothing new runs. Never more than the
    /// total, but for requests that run for longer than the lease.
    Close,
    /// It stays what it was. As long as no node reaches the store nobody gets more, so the total
    /// holds; if this node alone is cut off, its share is given to the others as well.
    Keep,
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> GateShare<C> {
    /// A share is given for so long.
    pub const LEASE: Duration = Duration::from_secs(3);
    /// A share is renewed so often.
    pub const RENEWED_EVERY: Duration = Duration::from_millis(250);
    /// The longest [`deadline`](RedisStoreOptions::deadline) that a lease leaves time for.
    pub const LONGEST_DEADLINE: Duration = Duration::from_secs(1);
    /// If no renewal has succeeded for so long, it may be for the connection.
    const DEAF_AFTER: Duration = Duration::from_secs(1);

    /// A node that has nothing yet of the gate with this name: letters, digits, `-` and `_`.
    ///
    /// `open` is called now, and again when the server has not answered for a while. A node starts also
    /// while its server is away, after 5 s at most, with a share of zero. Of the options
    /// the deadline counts, which is that of a renewal, and the prefix; the time is the server's,
    /// whatever clock is given.
    ///
    /// # Errors
    ///
    /// A name that cannot be used, options that cannot be obeyed, a deadline of more than
    /// [`LONGEST_DEADLINE`](Self::LONGEST_DEADLINE), a server that cannot be asked, or one that may
    /// evict keys.
    pub async fn connect<F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        gate: &str,
        total: NonZeroU32,
        on_loss: GateStoreFailure,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let (key, deadline) = Self::validate(gate, options)?;
        let connections = Connections::opened(open).await?;
        Self::start(connections, key, deadline, total, on_loss).await
    }

    /// The same on a connection that is there, and that sees to it itself when it breaks.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn with_connection(
        connection: C,
        gate: &str,
        total: NonZeroU32,
        on_loss: GateStoreFailure,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError> {
        let (key, deadline) = Self::validate(gate, options)?;
        Self::start(Connections::only(connection), key, deadline, total, on_loss).await
    }

    async fn start(
        connections: Arc<Connections<C>>,
        key: String,
        deadline: Duration,
        total: NonZeroU32,
        on_loss: GateStoreFailure,
    ) -> Result<Self, StoreError> {
        let checked = match connections.current() {
            Ok(mut connection) => check_memory(&mut connection, &key).await,
            Err(error) => Err(error),
        };
        match checked {
            Err(error) if !is_away(&error) => return Err(error),
            _ => {}
        }
        Ok(Self {
            connections,
            script: Script::new(include_str!("lua/share.lua")),
            key,
            deadline,
            node: node_id(),
            total,
            on_loss,
            share: 0,
            renewals: 0,
            renewed: None,
            heard: Instant::now(),
            replacing: None,
        })
    }

    /// Changes the total from the next renewal on. Tell all nodes.
    pub fn set_total(&mut self, total: NonZeroU32) {
        self.total = total;
    }

    /// Tells what this node has and wants, and returns the limit that is to be in force.
    ///
    /// The demand is read when the limit of the last time is in force. With no answer it takes as
    /// long as its deadline; another connection is opened meanwhile, for those after it.
    ///
    /// # Cancel safety
    ///
    /// A renewal that is dropped may have happened; the next one says the same again.
    pub async fn renew(&mut self, demand: Demand) -> u32 {
        let sent = Instant::now();
        match self.ask(demand).await {
            Ok(share) => (self.share, self.renewed, self.heard) = (share, Some(sent), sent),
            Err(error) => {
                let kept_for = self.kept_for();
                let is_over = self.renewed.is_none_or(|renewed| renewed.elapsed() >= kept_for);
                tracing::debug!(gate = self.key, %error, is_over, "a share was not renewed");
                if is_over && self.on_loss == GateStoreFailure::Close {
                    self.share = 0;
                }
                self.replace_if_deaf();
            }
        }
        self.share
    }

    /// How long to wait before the next renewal.
    #[must_use]
    pub const fn until_next(&self) -> Duration {
        Self::RENEWED_EVERY
    }

    /// The key, and the deadline of a renewal.
    fn validate(gate: &str, options: RedisStoreOptions) -> Result<(String, Duration), ConfigError> {
        let RedisStoreOptions { deadline, prefix, .. } = options.validate()?;
        if deadline > Self::LONGEST_DEADLINE {
            let given = format_args!("{deadline:?}");
            let expected = format_args!("{:?} at most", Self::LONGEST_DEADLINE);
            return Err(ConfigError::new(ConfigErrorKind::TooLarge, "deadline", given, expected));
        }
        Ok((keys::of_gate(&prefix, &keys::validate_name(gate.to_owned())?), deadline))
    }

    /// For how long a share counts that is not renewed.
    ///
    /// A node that finds it still does looks again after a pause and a renewal that fails. By then
    /// the server must not have given it to others, though a busy machine is late by as much again
    /// as the pause.
    fn kept_for(&self) -> Duration {
        Self::LEASE.saturating_sub(2 * Self::RENEWED_EVERY + self.deadline)
    }

    /// Opens another connection, and does not wait for it.
    fn replace_if_deaf(&mut self) {
        let is_replacing = self.replacing.as_ref().is_some_and(|task| !task.is_finished());
        if self.heard.elapsed() >= Self::DEAF_AFTER && !is_replacing {
            self.heard = Instant::now();
            let connections = Arc::clone(&self.connections);
            self.replacing = Some(tokio::spawn(async move { connections.replace().await }));
        }
    }

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

/// Checks that the server with this key evicts nothing.
async fn check_memory<C: ConnectionLike>(connection: &mut C, key: &str) -> Result<(), StoreError> {
    let script = Script::new(include_str!("lua/memory.lua"));
    let invocation = script.key(key);
    let value = timeout(CONNECT_DEADLINE, invocation.invoke_async(connection)).await;
    let value = value.map_err(|_| StoreError::new(StoreErrorKind::Timeout))?;
    let mut said = Fields::of(value.map_err(|error| unavailable(&error))?)?;
    check_eviction(&said.text()?, &said.text()?)
}

/// A name that no other node has.
fn node_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
