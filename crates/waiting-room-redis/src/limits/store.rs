//! `RedisLimits`, a handle to limits that many nodes share, and the code that joins a node to them.
//!
//! The code that decides on requests is in `round_trip.rs`, and the task that runs the script is in
//! `batch.rs`.

use std::{fmt, future::Future, sync::Arc};

use redis::{RedisResult, Script, aio::ConnectionLike};
use tokio::{sync::mpsc, time::timeout};
use waiting_room_core::{ConfigError, StoreError, error::StoreErrorKind};

use super::{
    batch::{self, ChargeCall},
    blocks::Blocks,
    leases::Leases,
    shared::Shared,
};
use crate::{
    clock::ServerClock,
    connections::{Breaker, CONNECT_DEADLINE, Connections, check_eviction, is_away, unavailable},
    keys::{self, Secret},
    options::RedisStoreOptions,
    reply::ReplyFields,
};

/// A [`RateStore`](waiting_room_core::rate::RateStore) on a Redis or Valkey server that any number
/// of nodes can share.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use waiting_room_redis::{RedisLimits, RedisStoreOptions};
///
/// let client = redis::Client::open("redis://127.0.0.1:6379")?;
/// let open = move || {
///     let client = client.clone();
///     async move { client.get_multiplexed_async_connection().await }
/// };
/// let limits = RedisLimits::connect(open, "api", RedisStoreOptions::new()).await?;
/// # Ok(())
/// # }
/// ```
///
/// All nodes that name the same group share its limits exactly: a charge by one node counts on all
/// nodes. Either all limits of a request are charged, or none are. In a cluster, a group is stored
/// on one cluster node.
///
/// A request takes one round trip, however many limits apply to it, and requests that arrive while
/// a call is in flight share the next round trip. A client that was refused is refused again
/// without a round trip until the store could allow its request. A node that leases
/// [blocks](Blocks) of a limit decides most requests by itself.
///
/// All clones share the connection and the state of the node.
///
/// # Cancel safety
///
/// Dropping the future of a charge does not undo the charge, which may have taken effect.
#[derive(Clone)]
pub struct RedisLimits {
    pub(super) shared: Arc<Shared>,
    /// The channel to the task that runs the scripts.
    pub(super) calls: mpsc::Sender<ChargeCall>,
    /// The leased blocks, or `None` on a node that leases no blocks.
    pub(super) leases: Option<Arc<Leases>>,
}

impl RedisLimits {
    /// Joins the group with this name, which consists of 1 to 64 letters, digits, `-` and `_`.
    ///
    /// `open` is called immediately, and again while the server does not answer. If the server
    /// cannot be reached within 5 s, the node starts without it, and the layer's failure policy
    /// applies until the server is reached.
    ///
    /// # Errors
    ///
    /// Returns an error if the name or the options are invalid, if the server is reached but
    /// refuses the node, or if the server may evict keys.
    pub async fn connect<C, F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        name: impl Into<String>,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let options = options.validate()?;
        let name = keys::validate_name(name.into())?;
        let connections = Connections::opened(open).await?;
        Self::start(connections, name, options).await
    }

    /// Joins the group over an existing connection, which must reconnect by itself.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`connect`](Self::connect).
    pub async fn with_connection<C>(
        connection: C,
        name: impl Into<String>,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let options = options.validate()?;
        let name = keys::validate_name(name.into())?;
        Self::start(Connections::only(connection), name, options).await
    }

    /// Joins the group and starts the tasks. The caller has validated the name and options.
    async fn start<C>(
        connections: Arc<Connections<C>>,
        name: String,
        RedisStoreOptions { deadline, prefix, clock, .. }: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let group = keys::of_limits(&prefix, &name);
        let joined = match connections.current() {
            Ok(mut connection) => join(&mut connection, &group).await,
            Err(error) => Err(error),
        };
        let (secret, breaker) = match joined {
            Ok(secret) => (secret, Breaker::default()),
            // If the group has a secret, the node receives it in the first reply.
            Err(error) if is_away(&error) => {
                tracing::warn!(limits = name, %error, "the node is starting without its store");
                (Secret::random(), Breaker::opened())
            }
            Err(error) => return Err(error),
        };
        let clock = ServerClock::new(clock);
        let shared = Arc::new(Shared::new(name, group, clock, deadline, secret, breaker));
        let (calls, served) = mpsc::channel(MAX_WAITING);
        tokio::spawn(batch::serve(served, Arc::clone(&connections), Arc::clone(&shared)));
        tokio::spawn(batch::probe(connections, Arc::clone(&shared), calls.downgrade()));
        Ok(Self { shared, calls, leases: None })
    }

    /// Lets this node lease blocks of the limits and spend them without round trips. [`Blocks`]
    /// describes how leases reduce accuracy.
    ///
    /// Some nodes of a group may lease blocks while others do not. Clones made before this call do
    /// not lease blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the block or the lease is too small or too large.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime.
    pub fn leasing(self, blocks: Blocks) -> Result<Self, ConfigError> {
        let leases = Arc::new(Leases::new(blocks.validate()?, self.shared.deadline));
        let shared = Arc::clone(&self.shared);
        let calls = self.calls.downgrade();
        tokio::spawn(batch::give_back(Arc::clone(&leases), shared, calls));
        Ok(Self { leases: Some(leases), ..self })
    }
}

impl fmt::Debug for RedisLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimits").field("group", &self.shared.group).finish_non_exhaustive()
    }
}

/// Reads the secret of the group, or stores a new one if there is none.
///
/// # Errors
///
/// Returns an error if the server does not answer within 5 s, refuses the node, or may evict keys.
async fn join<C: ConnectionLike>(connection: &mut C, group: &str) -> Result<Secret, StoreError> {
    let script = Script::new(JOIN);
    let mut invocation = script.prepare_invoke();
    invocation.key(group).arg(Secret::random().as_str());
    let value = timeout(CONNECT_DEADLINE, invocation.invoke_async(connection)).await;
    let value = value.map_err(|_| StoreError::new(StoreErrorKind::Timeout))?;
    let mut said = ReplyFields::of(value.map_err(|error| unavailable(&error))?)?;
    let secret = Secret::parse(said.text()?)?;
    check_eviction(&said.text()?, &said.text()?)?;
    Ok(secret)
}

const JOIN: &str = include_str!("lua/join.lua");

/// The maximum number of calls that wait while a batch is in flight. Further calls fail
/// immediately.
const MAX_WAITING: usize = 4_096;
