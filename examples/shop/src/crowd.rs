//! A crowd of simulated visitors, who visit the shop over real sockets.
//!
//! ```text
//!  seed ─► Schedule ─► Plan, one for each visitor ─► Visitor ══ HTTP ══► Server
//!                                                      │ what was sent and seen, and when
//!                                                      ▼
//!                                                   Witness ─► Oracle ─► Outcome
//! ```
//!
//! Each visitor is a client of its own, with its own connections and cookies. Its behaviour is
//! drawn before it arrives, so a seed reproduces a crowd; the answers that it gets are up to the
//! room. It obeys `Retry-After` and `Refresh`, and never returns earlier.
//!
//! The [`outcome`] is computed only from what the visitors saw. The [`display`] is the only module
//! that queries the room, to show the progress of a run.

mod answer;
mod claims;
mod client;
mod display;
mod draw;
mod flight;
mod gathering;
mod idle;
mod latencies;
mod outcome;
mod run;
mod sale;
mod schedule;
mod stream;
#[cfg(test)]
mod tests;
mod trips;
mod visitor;
mod witness;

pub(crate) use self::run::run;
pub use self::{
    display::Scene,
    gathering::Crowd,
    latencies::Latencies,
    outcome::{Form, Outcome},
    trips::{Tally, Trips},
    witness::{Admissions, Witness},
};
