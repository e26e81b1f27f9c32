//! The path of one request through the layer: the order of the stages and the effect of their
//! decisions.
//!
//! ```text
//!            bypass? ──────────────────────────────────────────────────► application
//!  request ─► token ─► Stage::order: chosen by the token                    ▲
//!                        │                                                  │
//!                        ├─ no token, or a pass:  limits, room, gates       │
//!                        ├─ a ticket:             room, limits, gates       │
//!                        ├─ a preflight:          limits, gates             │
//!                        └─ the path of push:     push, and nothing else    │
//!                                   │                                       │
//!      each stage: continue ────────┴─► next stage ──── after the last ─────┘
//!                  wait for a store, a turn or a permit ─► Pending ─► resume
//!                  reply ─► Responder ─► response
//! ```
//!
//! [`Pipeline::advance`] and [`Pipeline::resume`] walk through the stages in one loop. `in_effect`
//! is the only function in which the outcome of a stage takes effect, so it implements shadow mode
//! for all stages. A [`Journey`] holds the state of a request from its arrival to its response.
//!
//! The stages are implemented in `rate/`, `room/` and `gate/`, independently of each other. The
//! pipeline itself never waits: `future.rs` polls the [`Pending`] that the pipeline returns.

mod build;
mod journey;
mod order;
#[cfg(feature = "room")]
mod posts;
#[cfg(feature = "room")]
mod push;
mod reply;
mod response;
#[cfg(feature = "room")]
mod room;
#[cfg(feature = "room")]
mod stream;
#[cfg(feature = "room")]
mod verdict;

#[cfg(test)]
#[cfg(feature = "room")]
mod tests;

pub(crate) use self::{
    journey::{Journey, Pending, RequestClock, Resumed},
    order::{Pipeline, Stop},
    reply::Reply,
    response::{Held, keep_for_body, take_command},
};
