//! Rate limits that any number of nodes can share.
//!
//! [`RedisLimits`] is a [`RateStore`](waiting_room_core::rate::RateStore): one script charges
//! either all limits of a request or none of them, in one round trip. Each meter in the core has a
//! counterpart in Lua with the same integer arithmetic, so a shared limit behaves like a limit in
//! one process.
//!
//! ```text
//!  request ─► refused here lately? ─ yes ─► refused again, until the store may allow it
//!                      │ no
//!                      ▼
//!             leased here? ───────── yes ─► paid from the block, until the lease ends
//!                      │ no
//!                      ▼
//!  charge ─┐                                    ┌─► EVALSHA (every call that waits)
//!  charge ─┼─► waits while a call is in flight ─┘
//!  settle ─┘
//! ```
//!
//! A node stores only a bounded number of recent refusals and leased blocks. The state of every
//! limit is stored on the server.

mod ask;
mod batch;
mod block;
mod blocks;
mod leases;
mod meter;
mod refused;
mod reply;
mod round_trip;
mod shared;
mod store;

pub use self::{blocks::Blocks, store::RedisLimits};
