//! The conformance suite that every [`Store`](waiting_room_core::Store) must pass.
//!
//! A seeded stream of commands goes to the store and, at the same instants, to a naive model. Both
//! must give the same replies: each verdict with its reason, its position and every field of the
//! proof that it contains, and the numbers of the snapshot.
//!
//! ```text
//!              ┌────────► store ──── reply ───┐
//!   commands ──┤  (ManualClock)               ├──► equal? ──► next command
//!       ▲      └────────► model ──── reply ───┘                    │
//!       └──────────── tickets and passes, old ones too ────────────┘
//! ```
//!
//! Three things are up to the store: the intervals after which visitors are to return, within
//! bounds; the estimates of their waits; and the draw of a random line. The model takes them from
//! the replies.

mod commands;
mod model;
mod plan;
mod settings;
mod suite;

pub use self::{
    commands::{Command, Commands},
    model::{Model, Numbers, Told},
    plan::{Coverage, Divergence, Memory, Plan},
    settings::Settings,
    suite::conformance,
};

#[cfg(test)]
mod tests;
