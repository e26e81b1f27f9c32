//! The oracle: judges a room from outside, only by what its visitors saw.
//!
//! Its inputs are the times at which requests depart from visitors and answers arrive, all by one
//! clock, and the content of the answers. It never looks into the room. So the same oracle judges
//! the simulator, a server across a real network, and the waiting rooms of other vendors.
//!
//! # Proofs, not suspicions
//!
//! A request is decided at an unknown instant between its departure and the arrival of its answer.
//! Each violation that is counted here must hold *wherever* in these intervals the decisions fell:
//!
//! ```text
//!                 sent      decided (when?)     answered
//!   visitor  ──────┼───────────────?───────────────┼──────────►
//!                  ├── may hold a slot from here   │
//!                                                  ├── certainly holds one from here
//! ```
//!
//! - *Lower bounds* (active visitors, new visitors in 60 seconds) begin when an answer has arrived
//!   and end at the last moment at which the visitor certainly counts.
//! - *Upper bounds* (whether the room is full, which visitors stand ahead) begin when a request
//!   departs and end when no effect of it can be left. A request in flight may always be the one
//!   that took the slot.
//!
//! A violation that is not proven is not counted, so an alarm is never false. When answers take no
//! time, as in the simulator, both bounds coincide and no violation is missed.
//!
//! # What it does not do
//!
//! It judges rooms that admit visitors in order of arrival, or, after the start of an event, in the
//! order of a published draw. It judges rooms that prolong sessions with each request and test no
//! cookies. It does not judge lots, `queue_all` or estimated waits.

mod admitted;
mod bound;
mod certain;
mod course;
mod event;
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
    event::EventPromise,
    judge::Oracle,
    limits::{Limits, Seen, ShownPosition, VisitorNo},
    report::{Alarm, AlarmKind, EventReport, Report},
};

#[cfg(test)]
mod tests;
