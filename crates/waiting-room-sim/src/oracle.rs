//! The outside oracle: judges a room by what visitors saw of it, and by nothing else.
//!
//! It is told when a request left a visitor and when its answer arrived, all by one clock, and
//! what the answer was. It never looks into the room. So the same oracle judges the simulator, a
//! server across a real network, and anybody else's waiting room.
//!
//! # Proofs, not suspicions
//!
//! A request is decided at an unknown instant between its departure and the arrival of its answer.
//! Each thing that is counted here must be true *wherever* in these intervals the decisions fell:
//!
//! ```text
//!                 sent      decided (when?)     answered
//!   visitor  ──────┼───────────────?───────────────┼──────────►
//!                  ├── may hold a slot from here   │
//!                                                  ├── certainly holds one from here
//! ```
//!
//! - *Lower bounds* (active, new in 60 seconds) begin when an answer has arrived and end at the
//!   last moment that is certain.
//! - *Upper bounds* (is the room full, who stands ahead) begin when a request departs and end when
//!   nothing can be left of it; a request in flight may always be the one that took the slot.
//!
//! Whatever is not proven is not counted, so an alarm is never false. When answers take no time,
//! as in the simulator, both bounds meet and nothing is missed.
//!
//! # What it does not do
//!
//! It judges rooms that let visitors in by order of arrival, prolong sessions with each request
//! and test no cookies. It has no opinion on lotteries, on `queue_all` or on estimated waits.

mod admitted;
mod bound;
mod certain;
mod judge;
mod limits;
mod line;
mod order;
mod pending;
mod report;
mod settle;
mod tally;
mod visitor;
mod waiting;

pub use self::{
    judge::Oracle,
    limits::{Limits, Seen, ShownPosition, VisitorNo},
    report::{Alarm, AlarmKind, Report},
};

#[cfg(test)]
mod tests;
