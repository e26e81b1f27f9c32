//! Who comes to the shop: visitors like real ones, over real sockets.
//!
//! ```text
//!  seed ─► Schedule ─► Plan, one for each visitor ─► Visitor ══ HTTP ══► Server
//!                                                      │ what was sent and seen, and when
//!                                                      ▼
//!                                                   Witness ─► Oracle ─► Outcome
//! ```
//!
//! Each visitor is a client of its own, with its own connections and its own cookies. What it will
//! do is drawn before it comes, so a seed repeats a crowd; what it is answered is up to the room.
//! It does as it is told: it comes back when `Retry-After` or `Refresh` says so, not earlier.
//!
//! What the [`outcome`] says comes from the visitors alone. Only the [`display`] looks into the
//! room, so that there is something to see meanwhile.

mod answer;
mod claims;
mod client;
mod display;
mod flight;
mod gathering;
mod latencies;
mod outcome;
mod plan;
mod run;
mod schedule;
#[cfg(test)]
mod tests;
mod visitor;
mod witness;

pub(crate) use self::run::run;
pub use self::{
    display::Scene,
    gathering::Crowd,
    latencies::Latencies,
    outcome::{Form, Outcome},
    witness::{Admissions, Witness},
};
