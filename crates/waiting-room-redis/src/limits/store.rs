//! The limits of many nodes, on one server.

use std::{fmt, future::Future, sync::Arc};

use redis::{RedisResult, Script, aio::ConnectionLike};
use tokio::{sync::mpsc, time::timeout};
use waiting_room_core::{ConfigError, StoreError, StoreErrorKind};

use super::{
    blocks::Blocks,
    lane::{self, Call},
    leases::Leases,
    shared::Shared,
};
use crate::{
    clock::ServerClock,
    connections::{Breaker, CONNECT_DEADLINE, Connections, check_eviction, is_away, unavailable},
    keys::{self, Secret},
    options::RedisStoreOptions,
    reply::Fields,
};

/// Rate limits on a Redis or Valkey server, for any number of nodes.
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
/// All nodes that name the same group share its limits: what one node is asked counts for all, to
/// the unit. The limits of a group are charged all or none, and lie on one node of a cluster.
///
/// A request is one round trip, whatever the number of its limits; requests that come while one is
/// under way share the next. Who was refused is refused again without a question, until the store
/// may allow it. A node may take [blocks](Blocks) of a limit, and then need not ask for each request.
///
/// Clones are the same limits.
///
/// # Cancel safety
///
/// A charge that is dropped may have been made.
#[derive(Clone)]
pub struct RedisLimits {
    pub(super) shared: Arc<Shared>,
    pub(super) calls: mpsc::Sender<Call>,
    pub(super) leases: Option<Arc<Leases>>,
}

impl RedisLimits {
    /// A node of the group of this name: letters, digits, `-` and `_`.
    ///
    /// `open` is called now, and again when the server has not answered for a while. A node starts also
    /// while its server is away, after 5 s at most: the failure policy of the layer decides until it
    /// is reached.
    ///
    /// # Errors
    ///
    /// A name that cannot be used, options that cannot be obeyed, a server that is there and refuses
    /// the node, or one that may evict keys.
    pub async fn connect<C, F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        name: impl Into<String>,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let (options, name) = (options.validate()?, keys::validate_name(name.into())?);
        let connections = Connections::opened(open).await?;
        Self::start(connections, name, options).await
    }

    /// The same on a connection that is there, and that sees to it itself when it breaks.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn with_connection<C>(
        connection: C,
        name: impl Into<String>,
        options: RedisStoreOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let (options, name) = (options.validate()?, keys::validate_name(name.into())?);
        Self::start(Connections::only(connection), name, options).await
    }

    async fn start<C>(
        connections: Arc<Connections<C>>,
        name: String,
        RedisStoreOptions { deadline, prefix, clock }: RedisStoreOptions,
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
            // That of the others, if there is one, comes with the first answer.
            Err(error) if is_away(&error) => {
                tracing::warn!(limits = name, %error, "the store is away: the node starts without it");
                (Secret::random(), Breaker::opened())
            }
            Err(error) => return Err(error),
        };
        let clock = ServerClock::new(clock);
        let shared = Arc::new(Shared::new(name, group, clock, deadline, secret, breaker));
        let (calls, served) = mpsc::channel(MAX_WAITING);
        tokio::spawn(lane::serve(served, Arc::clone(&connections), Arc::clone(&shared)));
        tokio::spawn(lane::probe(connections, Arc::clone(&shared), calls.downgrade()));
        Ok(Self { shared, calls, leases: None })
    }

    /// The same limits, of which this node takes blocks, and spends them without asking; see
    /// [`Blocks`] for what that costs.
    ///
    /// Each node may do so or not. Clones that were made before go on asking each time.
    ///
    /// # Errors
    ///
    /// A block or a lease that is too small or too large.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn leasing(self, blocks: Blocks) -> Result<Self, ConfigError> {
        let leases = Arc::new(Leases::new(blocks.validate()?, self.shared.deadline));
        let (shared, calls) = (Arc::clone(&self.shared), self.calls.downgrade());
        tokio::spawn(lane::give_back(Arc::clone(&leases), shared, calls));
        Ok(Self { leases: Some(leases), ..self })
    }
}

impl fmt::Debug for RedisLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimits").field("group", &self.shared.group).finish_non_exhaustive()
    }
}

/// Learns the secret of the group, and whether the server can be trusted with limits.
async fn join<C: ConnectionLike>(connection: &mut C, group: &str) -> Result<Secret, StoreError> {
    let script = Script::new(JOIN);
    let mut invocation = script.prepare_invoke();
    invocation.key(group).arg(Secret::random().as_str());
    let value = timeout(CONNECT_DEADLINE, invocation.invoke_async(connection)).await;
    let value = value.map_err(|_| StoreError::new(StoreErrorKind::Timeout))?;
    let mut said = Fields::of(value.map_err(|error| unavailable(&error))?)?;
    let secret = Secret::parse(said.text()?)?;
    check_eviction(&said.text()?, &said.text()?)?;
    Ok(secret)
}

const JOIN: &str = include_str!("lua/join.lua");

/// So many requests wait for those that are under way.
const MAX_WAITING: usize = 4_096;
