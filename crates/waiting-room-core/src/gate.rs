//! The gate: at most so many at once, so many more in a queue, and the rest are told when to come
//! back.
//!
//! ```text
//!            ┌─ room, and nobody waits ──────────────► Permit ─► … ─► dropped ─┐
//!  enter ────┼─ room in the queue ──► Acquire ─ grant ──────▲                    │
//!            │                          ├─ deadline, evicted ► refused         │
//!            └─ none, or no hope ───────┴────────────────► refused   next ◄────┘
//! ```
//!
//! All that anybody can race for is one word, the [`Counter`](counter): a gate that nobody waits at
//! costs one compare-and-swap each way. Everything else, with the queue, is behind one short lock,
//! under which nobody is woken.
//!
//! It knows the time only as an argument and from a [`Clock`](crate::Clock), and no runtime: a
//! [`Acquire`] is a future without a timer.

mod acquire;
pub(crate) mod adaptive;
mod arrival;
mod counter;
mod deadline;
#[expect(clippy::module_inception, reason = "gate.rs is the gate; its parts stand beside it")]
mod gate;
mod idle;
mod line;
mod locked;
mod pace;
mod permit;
mod queue;
mod retry_schedule;
mod rules;
mod verbs;
mod waiters;

pub use self::{
    acquire::Acquire,
    arrival::{Arrival, GateRefused, RefusedBecause},
    gate::{Gate, GateOutcomes, GateSnapshot},
    idle::Idle,
    permit::Permit,
    rules::{Discipline, GateRules, Tenants},
    verbs::{DrainQueue, Entry},
};

#[cfg(test)]
mod tests;
