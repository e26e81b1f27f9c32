//! The way of one request, from its first look to its last byte.
//!
//! ```text
//!            bypass? ──────────────────────────────────────────────────► application
//!  request ─► token ─► Stage::order: by what the request brought            ▲
//!                        │                                                  │
//!                        ├─ nothing, or a pass:  limits, room, gates
//!                        ├─ a ticket:            room, limits, gates
//!                        └─ a preflight:         limits, gates
//!                                   │
//!      each stage: continue ────────┴─► the next
//!                  wait for an answer, a turn or a permit ─► Pending ─► resume
//!                  reply ─► the one renderer ─► response
//! ```
//!
//! [`Pipeline::advance`] and [`Pipeline::resume`] walk the stages in one loop, and what a stage says
//! takes effect in one place, `in_effect`: there, shadow mode is decided. What a request carries
//! through the stages and to its response is its [`Journey`]. The stages themselves are in `rate/`,
//! `room/` and `gate/`, and know nothing of each other.

mod order;
mod pending;
mod reply;
mod response;
mod verdict;

#[cfg(test)]
mod tests;

pub use self::response::{COMMAND_HEADER, REASON_HEADER, reason_of};
pub(crate) use self::{
    order::{Journey, Pipeline, Stop},
    pending::Pending,
};
