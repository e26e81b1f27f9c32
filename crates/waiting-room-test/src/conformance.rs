//! The conformance suite that every [`Store`](waiting_room_core::Store) must pass.
//!
//! [`store_conformance`](crate::store_conformance) is the whole suite with the usual settings, as
//! one line of a test. [`run`] runs a single [`SuitePlan`], for longer campaigns and for stores
//! whose state outlives the process.
//!
//! A seeded stream of commands goes to the store and, at the same instants, to a naive model. Both
//! must give the same replies: each verdict, with its reason, its position and every field of its
//! proof, and the numbers of the snapshot.
//!
//! ```text
//!              ┌────────► store ──── reply ───┐
//!   commands ──┤  (ManualClock)               ├──► equal? ──► next command
//!       ▲      └────────► model ──── reply ───┘                    │
//!       └──────────── tickets and passes, old ones too ────────────┘
//! ```
//!
//! The commands also schedule events, with prequeues and draws. A store without events, which refuses
//! a schedule as unsupported, is not asked again.
//!
//! Four things are up to the store: the intervals after which visitors return, within bounds; the
//! estimates of their waits; the draw of a random line; and, while the line has
//! entrants who have not checked in since their draw, the oldest wait. The model takes them from
//! the replies.
//!
//! # What passing proves
//!
//! | part of the contract | is tested |
//! |---|---|
//! | the replies, and the rules that they follow | all verbs, against the model, with proofs that are old, lapsed or presented twice |
//! | events | the rules in force, the prequeue, the numbers of the entrants and their places after a draw; changes that are refused |
//! | "cheap to clone" | each command goes to a fresh clone, so clones must share the state |
//! | "owns its time" | the store's time never runs backwards, and equals the clock it was given |
//! | `remembers_since` | the store does not claim to know passes that are older than its room |
//! | "atomic" | [`run_at_once`]: visitors that enter in the same instant never exceed a limit |
//! | what is forgotten | [`run_after_a_flood`]: proofs stay void when more visitors have left than the store remembers |
//! | after a restart | an empty store continues with older passes and tickets; a store that [lasts](Durability::Lasts) continues as if nothing had happened |
//!
//! # What it does not prove
//!
//! The suite causes no failures, so it tests neither what a store does during an outage nor that a
//! dropped future leaves the room consistent. It polls all futures on one thread, and knows only
//! one node.
//!
//! # Example
//!
//! ```
//! use waiting_room_core::MemoryStore;
//! use waiting_room_test::store_conformance;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! store_conformance(async |rules, clock| MemoryStore::with_clock(rules, clock).unwrap()).await;
//! # }
//! ```

mod at_once;
mod commands;
mod flood;
mod model;
mod plan;
mod schedule;
mod settings;
pub(crate) mod suite;

pub use self::{
    at_once::run_at_once,
    flood::run_after_a_flood,
    plan::{Coverage, Divergence, Durability, SuitePlan},
    suite::run,
};

#[cfg(test)]
mod tests;
