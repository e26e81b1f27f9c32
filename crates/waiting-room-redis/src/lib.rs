//! A waiting room, rate limits and gates that many nodes share through a Redis or Valkey server.
//!
//! A [`RedisStore`] is a [`Store`](waiting_room_core::Store): every node of a service has a store,
//! and all of these stores share one room. Each operation is one script, which the server completes
//! before it starts the next script, so the guarantees of the room hold across all nodes: no limit
//! is exceeded, no visitor waits while a slot is free for it, and visitors are admitted in order.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use waiting_room_core::RoomRules;
//! use waiting_room_redis::{RedisStore, RedisStoreOptions};
//!
//! let client = redis::Client::open("redis://127.0.0.1:6379")?;
//! let open = move || {
//!     let client = client.clone();
//!     async move { client.get_multiplexed_async_connection().await }
//! };
//! let rules = RoomRules::new("shop", 200).new_users_per_minute(200);
//! let store = RedisStore::connect(open, rules, RedisStoreOptions::new()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The application supplies the connection, with or without TLS, to a single server or to a
//! cluster. In a cluster, all keys of a room are stored on one cluster node, because they have the
//! same hash tag. [`RedisStore::connect`] opens a new connection when calls fail or time out,
//! because the peer of a connection can vanish without closing it.
//!
//! [`RedisLimits`] shares rate limits in the same way, and [`GateShare`] shares a concurrency
//! limit.
//!
//! # Round trips
//!
//! ```text
//!  enter ─┐                               ┌─► EVALSHA enter   (every call that waits)
//!  enter ─┼─► waits while a call of the ──┤
//!  renew ─┘   same operation is in flight └─► EVALSHA renew
//! ```
//!
//! A request with a valid pass makes no call unless the pass is due for renewal. If a visitor is so
//! far back in the line that it cannot be admitted soon, the node itself answers the check-in.
//! Every other request takes one round trip, and calls that arrive while a call of the same
//! operation is in flight share the next round trip. A decision that takes longer than its deadline
//! is an error, and the layer's failure policy determines what happens to the visitor.
//!
//! # Time
//!
//! A room uses the server's clock, but the room's time never runs backwards: if the server's clock
//! is set back, or another server takes over, the room's time continues from where it was. A node
//! derives the time from the replies that it receives. The node's estimate is never behind the
//! server's clock, so a node does not accept a pass that has expired on the server.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batches;
mod clock;
mod connections;
mod frontier;
mod gate_share;
mod keys;
mod known;
mod limits;
mod nodes;
mod options;
mod phases;
mod reply;
mod rules;
mod scripts;
mod shared;
#[cfg(feature = "sites")]
#[doc(hidden)]
pub mod site;
mod store;
mod sync;
mod verbs;
mod watch;

pub use crate::{
    gate_share::{GateShare, GateShareOptions, GateStoreFailure},
    limits::{Blocks, RedisLimits},
    options::RedisStoreOptions,
    store::RedisStore,
};
