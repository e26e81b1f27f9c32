//! The gate, a limit on the number of requests that run at once.
//!
//! If a service runs too many requests at once, all of them become slower. A gate admits requests
//! up to a limit, lets a bounded number of further requests wait for a permit, and refuses the
//! rest, usually with a retry time.
//!
//! ```text
//!          below the limit, no queue
//!  enter ─┬──────────────────────────────────────────► Permit ─► dropped ─► the next waiter,
//!         │ space in the queue            granted        ▲                  or a free permit
//!         ├───────────────────► Acquire ─────────────────┘
//!         │                        │ deadline, evicted, drained
//!         │ full, or hopeless      ▼
//!         └───────────────────► refused
//! ```
//!
//! # How it works
//!
//! The only state that requests contend for is one atomic word. Entering a gate without waiters
//! usually takes one compare-and-swap, and leaving it takes another. All other state, including the
//! queue, is protected by a lock that is held only briefly. Wakers are called after the lock has
//! been released.
//!
//! If requests are waiting, a released permit goes directly to the next waiter. The permit stays
//! counted, so no newcomer can take it in the meantime. The [`Discipline`] decides which waiter is
//! next.
//!
//! The current time is passed as an argument, or is read from a [`Clock`](crate::time::Clock). The
//! gate does not depend on an async runtime: an [`Acquire`] is a future without a timer, so its
//! owner calls [`Acquire::time_out`] at the deadline.
//!
//! # What it does not do
//!
//! A gate limits concurrency, not rate, and does not bound how long a request runs. A gate belongs
//! to one process. If several nodes share a limit, each node renews its part of a [`SharedConcurrency`]
//! and sets it with [`Gate::set_limit`].

mod acquire;
mod adaptive;
mod arrival;
mod counter;
mod deadline;
#[expect(clippy::module_inception, reason = "gate.rs is the gate; the other files are its parts")]
mod gate;
mod idle;
mod line;
mod locked;
mod pace;
mod queue;
mod retry_schedule;
mod rules;
mod shared;
mod verbs;
mod waiters;

pub use self::{
    acquire::Acquire,
    adaptive::{
        AdaptiveLimit, AdaptiveRules, Aimd, FixedLimit, Gradient2, PermitOutcome, Sample, Vegas,
    },
    arrival::{Arrival, GateRefused, RefusedBecause},
    gate::{Gate, GateOutcomes, GateSnapshot, Permit},
    idle::Idle,
    rules::{Discipline, GateRules, Tenants},
    shared::{Demand, NodeShare, SharedConcurrency},
    verbs::{DrainQueue, Entry},
};

#[cfg(test)]
mod tests;
