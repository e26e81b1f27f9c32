//! Gates: limits on how many requests run at once.
//!
//! A rate limit bounds how many requests start in a period, but not how many of them run together.
//! A gate bounds the second number, and with it the memory, the connections and the CPU time that a
//! service uses at its worst. Requests over the limit wait in a bounded queue, or are refused. A
//! gate is configured by a [`Concurrency`].
//!
//! ```text
//!  request ─► each gate that covers it: gates by key first, the gate of all requests last
//!    │ every gate gave a permit         │ one gate has no free permit
//!    ▼                                  ▼
//!  the request runs ◄─── granted ──── the request waits in the queue of that gate
//!    │                                  └─► refused, timed out, or its client has disconnected
//!    ├─ the permits are held until the head or the end of the response (ReleaseAt)
//!    ├─ and for as long as the application keeps a PermitHandle
//!    └─ and taken back early if the response is not read, or after Concurrency::max_hold
//! ```
//!
//! The [`Discipline`] decides in which order the queue is served, and which waiting requests are
//! refused under overload. An [`AdaptiveLimit`] finds the limit itself. [`GateStatuses`] chooses
//! the statuses of refusals.
//!
//! A gate counts the requests of this process only. It never interrupts a request: one whose permit
//! was taken back, or that runs while the limit is lowered, continues.

mod concurrency;
mod lease;
mod options;
mod registry;
mod stage;
mod sweeper;
mod waiting;

pub use waiting_room_core::gate::{
    AdaptiveLimit, AdaptiveRules, Aimd, Discipline, DrainQueue, FixedLimit, GateOutcomes,
    GateRules, GateSnapshot, Gradient2, PermitOutcome, Sample, Tenants, Vegas,
};

pub use self::{
    concurrency::Concurrency,
    lease::PermitHandle,
    options::{ClientDeadline, GateStatuses, ReleaseAt},
};
pub(crate) use self::{
    lease::{BodyPermits, Permits, body_read_timeout},
    registry::{GateLine, GateRef, GateSet},
    stage::{GateStage, Gated},
    waiting::{Waited, Waiting},
};
