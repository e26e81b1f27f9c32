//! Rate limits that any number of nodes share.
//!
//! [`RedisLimits`] is a [`RateStore`](waiting_room_core::RateStore): one script asks all limits
//! of a request, all or nothing, in one round trip. Each meter of the core has its twin in Lua,
//! with the same whole numbers, so that a limit means the same on one node and on many.
//!
//! ```text
//!  request ─► refused here lately? ─ yes ─► refused again, until the store may allow it
//!                      │ no
//!                      ▼
//!             leased here? ───────── yes ─► spent here, until the lease ends
//!                      │ no
//!                      ▼
//!  charge ─┐                                  ┌─► EVALSHA (all that came meanwhile)
//!  charge ─┼─► waits while one is under way ──┘
//!  settle ─┘
//! ```

mod ask;
mod asking;
mod block;
mod blocks;
mod lane;
mod leases;
mod meter;
mod refused;
mod reply;
mod shared;
mod store;

pub use self::{blocks::Blocks, store::RedisLimits};
