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
//! The script in `lua/share.lua` never gives a node more than the other nodes leave of the total. A
//! node whose share shrinks first receives a lower limit. The difference goes to other nodes only
//! once the node has reported that it applies the lower limit and its requests above that limit
//! have finished.
//!
//! This module contains no gate: the layer applies each share to a gate of its own.

mod node;
mod options;

use std::{
    fmt,
    future::Future,
    num::NonZeroU32,
    sync::{Arc, atomic::Ordering},
};

use redis::{RedisResult, Script, aio::ConnectionLike};
use tokio::time::timeout;
use waiting_room_core::{
    StoreError,
    error::StoreErrorKind,
    gate::{NodeShare, SharedConcurrency},
};

pub use self::options::{GateShareOptions, GateStoreFailure};
use self::{node::GateNode, options::GateSettings};
use crate::{
    connections::{CONNECT_DEADLINE, Connections, check_eviction, is_away, unavailable},
    reply::ReplyFields,
};

/// A concurrency limit that applies to all nodes together. Each node has a share of the limit.
///
/// Each node has its own gate, whose limit is the node's share, so a request for which a permit is
/// free needs no round trip. Four times a second, the node reports how many requests are running
/// and waiting, and receives a share that depends on the demand of all nodes.
///
/// A share is an argument of `Concurrency::shared`, which renews it, as in the [example
/// `shared_gate`][example].
///
/// The total is never exceeded, however the load moves between nodes, with two exceptions. First,
/// the total can be exceeded while the server is unreachable, as [`GateStoreFailure`] describes.
/// Second, if the server has lost its data, it may grant one node permits that another node is
/// still using, until every node has renewed its share.
///
/// Each gate that uses a clone of this share is a node of its own.
///
/// [example]: https://docs.rs/crate/waiting-room-redis/latest/source/examples/shared_gate.rs
#[derive(Clone)]
pub struct GateShare {
    settings: Arc<GateSettings>,
    /// Adds a node on the connections of this share.
    join: Arc<Join>,
}

type Join = dyn Fn(Arc<GateSettings>) -> Box<dyn NodeShare> + Send + Sync;

impl GateShare {
    /// Connects to the server that keeps the gate with this name.
    ///
    /// The name consists of 1 to 64 letters, digits, `-` and `_`. `open` is called immediately, and
    /// again when no renewal has succeeded for a second. If the server cannot be reached within 5
    /// s, the node starts without it.
    ///
    /// # Errors
    ///
    /// Returns an error if the name or the options are invalid, if the deadline exceeds
    /// [`LONGEST_DEADLINE`](GateShareOptions::LONGEST_DEADLINE), if the server is reached but refuses the node,
    /// or if the server may evict keys.
    pub async fn connect<C, F>(
        open: impl Fn() -> F + Send + Sync + 'static,
        gate: impl Into<String>,
        options: GateShareOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let settings = GateSettings::new(gate.into(), options)?;
        Self::start(Connections::opened(open).await?, settings).await
    }

    /// Uses an existing connection, which must reconnect by itself.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`connect`](Self::connect).
    pub async fn with_connection<C>(
        connection: C,
        gate: impl Into<String>,
        options: GateShareOptions,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let settings = GateSettings::new(gate.into(), options)?;
        Self::start(Connections::only(connection), settings).await
    }

    async fn start<C>(
        connections: Arc<Connections<C>>,
        settings: GateSettings,
    ) -> Result<Self, StoreError>
    where
        C: ConnectionLike + Clone + Send + Sync + 'static,
    {
        let checked = match connections.current() {
            Ok(mut connection) => check_memory(&mut connection, &settings.key).await,
            Err(error) => Err(error),
        };
        // An unreachable server is not an error, because the first successful renewal obtains a
        // share.
        match checked {
            Err(error) if !is_away(&error) => return Err(error),
            _ => {}
        }
        let join = move |settings: Arc<GateSettings>| -> Box<dyn NodeShare> {
            Box::new(GateNode::new(Arc::clone(&connections), settings))
        };
        Ok(Self { settings: Arc::new(settings), join: Arc::new(join) })
    }

    /// Changes the total, starting with the next renewal. The total of all clones changes.
    ///
    /// Call this method on all nodes, because each renewal uses the total of the node that sends
    /// it.
    pub fn set_total(&self, total: NonZeroU32) {
        self.settings.total.store(total.get(), Ordering::Relaxed);
    }
}

impl SharedConcurrency for GateShare {
    fn join(&self) -> Box<dyn NodeShare> {
        (self.join)(Arc::clone(&self.settings))
    }
}

impl fmt::Debug for GateShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateShare").field("settings", &self.settings).finish_non_exhaustive()
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
