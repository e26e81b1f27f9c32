//! One gate for many nodes: each has a share of it.

use std::{fmt, future::Future, num::NonZeroU32, sync::Arc, time::Duration};

use redis::{RedisResult, Script, aio::ConnectionLike};
use tokio::time::{Instant, timeout};
use waiting_room_core::{StoreError, StoreErrorKind};

use crate::{batches::unavailable, connections::Connections};

/// A node's share of a limit on concurrency that holds for all nodes together.
///
/// Each node has a gate of its own, whose limit is its share: a request that finds a permit asks no
/// server. A few times a second the node tells how many requests run and wait, and gets a share by
/// what all nodes want. So at no time do more run than the total, however the load moves, except
/// where [`OnLoss`] says so, and for a renewal of each node after the server has lost its memory:
/// until all have told what they have, it gives away what others still use.
///
/// ```no_run
/// # use waiting_room_redis::{Demand, GateShare, OnLoss};
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
/// let mut share = GateShare::connect(open, "checkout", total, OnLoss::Keep).await?;
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
    node: String,
    total: NonZeroU32,
    on_loss: OnLoss,
    share: u32,
    renewed: Option<Instant>,
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
pub enum OnLoss {
    /// It is zero: nothing new runs. Never more than the total, but for requests that run for
    /// longer than the lease.
    Close,
    /// It stays what it was. As long as no node reaches the store nobody gets more, so the total
    /// holds; if this node alone is cut off, its share is given to the others as well.
    Keep,
}

impl<C: ConnectionLike + Clone> GateShare<C> {
    /// A share is given for so long.
    pub const LEASE: Duration = Duration::from_secs(3);
    /// A share is renewed so often.
    pub const RENEWED_EVERY: Duration = Duration::from_millis(250);
    const DEADLINE: Duration = Duration::from_millis(200);
    /// If no renewal has succeeded for so long, it may be for the connection.
    const DEAF_AFTER: Duration = Duration::from_secs(1);

    /// A node that has nothing yet of the gate with this name.
    ///
    /// `open` is called now, and again when the server has not answered for a while.
    ///
    /// # Errors
    ///
    /// A server that cannot be reached.
    pub async fn connect<F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        gate: &str,
        total: NonZeroU32,
        on_loss: OnLoss,
    ) -> Result<Self, StoreError>
    where
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let connections = Connections::opened(open).await.map_err(|error| unavailable(&error))?;
        Ok(Self::start(connections, gate, total, on_loss))
    }

    /// The same on a connection that is there, and that sees to it itself when it breaks.
    pub fn on(connection: C, gate: &str, total: NonZeroU32, on_loss: OnLoss) -> Self {
        Self::start(Connections::only(connection), gate, total, on_loss)
    }

    fn start(
        connections: Arc<Connections<C>>,
        gate: &str,
        total: NonZeroU32,
        on_loss: OnLoss,
    ) -> Self {
        Self {
            connections,
            script: Script::new(include_str!("lua/share.lua")),
            key: format!("{{wr:gate:{gate}}}:shares"),
            node: node_id(),
            total,
            on_loss,
            share: 0,
            renewed: None,
        }
    }

    /// Changes the total from the next renewal on. Tell all nodes.
    pub fn set_total(&mut self, total: NonZeroU32) {
        self.total = total;
    }

    /// Tells what this node has and wants, and returns the limit that is to be in force.
    ///
    /// The demand is read when the limit of the last time is in force.
    ///
    /// # Cancel safety
    ///
    /// A renewal that is dropped may have happened; the next one says the same again. With no answer
    /// it takes little more than a second, in which another connection is tried.
    pub async fn renew(&mut self, demand: Demand) -> u32 {
        let sent = Instant::now();
        match self.ask(demand).await {
            Ok(share) => (self.share, self.renewed) = (share, Some(sent)),
            Err(error) => {
                let is_older = |than| self.renewed.is_none_or(|renewed| renewed.elapsed() >= than);
                let (is_over, is_deaf) = (is_older(Self::LEASE), is_older(Self::DEAF_AFTER));
                tracing::debug!(gate = self.key, %error, is_over, "a share was not renewed");
                if is_over && self.on_loss == OnLoss::Close {
                    self.share = 0;
                }
                if is_deaf {
                    self.connections.replace().await;
                }
            }
        }
        self.share
    }

    /// How long to wait before the next renewal.
    #[must_use]
    pub const fn until_next(&self) -> Duration {
        Self::RENEWED_EVERY
    }

    async fn ask(&mut self, Demand { in_flight, queued }: Demand) -> Result<u32, StoreError> {
        let mut invocation = self.script.key(&self.key);
        invocation
            .arg(&self.node)
            .arg(self.total.get())
            .arg(self.share)
            .arg(in_flight)
            .arg(in_flight.saturating_add(queued))
            .arg(u64::try_from(Self::LEASE.as_micros()).unwrap_or(u64::MAX));
        match timeout(Self::DEADLINE, invocation.invoke_async(&mut self.connections.current()))
            .await
        {
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

/// A name that no other node has.
fn node_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}
