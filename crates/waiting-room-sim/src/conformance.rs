//! The suite that every [`Store`](waiting_room_core::Store) must pass.
//!
//! A seeded stream of commands is given to the store and, at the same instants, to a model that is
//! as slow as it is plain. Both must say the same: each verdict with its reason, its position and
//! every field of the proof it hands out, and the numbers of the snapshot.
//!
//! ```text
//!              ┌────────► store ──── reply ───┐
//!   commands ──┤  (ManualClock)               ├──► equal? ──► next command
//!       ▲      └────────► model ──── reply ───┘                    │
//!       └──────────── tickets and passes, old ones too ────────────┘
//! ```
//!
//! What is left to the store is how long a visitor is asked to stay away, within bounds, the
//! estimate of the wait, and on whom the lot falls. The model is told, and follows.

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
