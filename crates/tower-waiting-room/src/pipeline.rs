//! The path of one request through the layer: the order of the stages, and what follows from their
//! decisions.
//!
//! ```text
//!            bypass? ──────────────────────────────────────────────────► application
//!  request ─► token ─► Stage::order: by what the request carries            ▲
//!                        │                                                  │
//!                        ├─ no token, or a pass:  limits, room, gates       │
//!                        ├─ a ticket:             room, limits, gates       │
//!                        └─ a preflight:          limits, gates             │
//!                                   │                                       │
//!      each stage: continue ────────┴─► the next one ── after the last ─────┘
//!                  wait for a store, a turn or a permit ─► Pending ─► resume
//!                  reply ─► Responder ─► response
//! ```
//!
//! [`Pipeline::advance`] and [`Pipeline::resume`] walk through the stages in one loop. The outcome
//! of each stage takes effect in one place, `in_effect`, where shadow mode is decided for all of
//! them. A [`Journey`] holds what a request carries through the stages and on to its response.
//!
//! The stages are in `rate/`, `room/` and `gate/`, and know nothing of each other. Nothing here
//! waits: `future.rs` polls what the pipeline returns.

mod build;
mod order;
mod pending;
mod reply;
mod response;
mod verdict;

#[cfg(test)]
#[cfg(feature = "room")]
mod tests;

pub(crate) use self::{
    order::{Journey, Pipeline, Stop},
    pending::Pending,
};
