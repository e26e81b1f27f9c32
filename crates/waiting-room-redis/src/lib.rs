//! One waiting room for many machines, and their rate limits, on a Redis or Valkey server.
//!
//! A [`RedisStore`] is a [`Store`](waiting_room_core::Store): every node of a service has one, and
//! all of them share one room. What the room promises holds across them, because each verb is one
//! script, which the server runs from beginning to end before the next: never above a limit,
//! nobody queued early, in order.
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
//! The connection is yours: with TLS or without, to one server, or to a cluster; in a cluster a
//! room lies on one node, as all its keys have one hash tag. It is opened anew when the server has
//! not answered for a second, since the other end of a connection can vanish without a word.
//!
//! [`RedisLimits`] does the same for rate limits: see [there](RedisLimits).
//!
//! # What a node asks
//!
//! ```text
//!  enter ─┐                             ┌─► EVALSHA enter     (all that came meanwhile)
//!  enter ─┼─► waits while one of its ───┤
//!  renew ─┘   kind is under way         └─► EVALSHA renew
//! ```
//!
//! A visitor with a valid pass asks nothing. All others make one round trip; calls that come while
//! one of their kind is under way share the next. A decision that takes longer than its deadline
//! is an error, and what becomes of the visitor then is for the failure policy of the layer.
//!
//! # Time
//!
//! The server's clock is the room's, and never runs backwards: if it is set back, or another server
//! takes over, the time of the room goes on from where it was. A node reads the time off its last
//! replies; it is never behind the server by its own account, so a pass that is void there is not
//! taken for valid here.

mod batches;
mod clock;
mod connections;
mod frontier;
mod gate_share;
mod keys;
mod limits;
mod options;
mod reply;
mod scripts;
mod shared;
mod store;
mod sync;
mod verbs;
mod watch;

pub use crate::{
    gate_share::{Demand, GateShare, GateStoreFailure},
    limits::{Blocks, RedisLimits},
    options::RedisStoreOptions,
    store::RedisStore,
};
