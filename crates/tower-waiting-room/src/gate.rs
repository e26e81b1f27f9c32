//! Gates: limits on the number of requests that run at once.
//!
//! A rate limit bounds the number of requests that start in a given period, but not the number of
//! requests that run at the same time. A gate bounds the number of running requests, and with it
//! the memory, the connections and the CPU time that a service uses at peak load. Requests over the
//! limit wait in a bounded queue or are refused. A gate is configured with a [`Concurrency`].
//!
//! ```text
//!  request ─► each gate that covers it: gates by key first, the gate of all requests last
//!    │ every gate gave a permit         │ one gate has no free permit
//!    ▼                                  ▼
//!  the request runs ◄─── granted ──── the request waits in the queue of that gate
//!    │                                  └─► refused, timed out, or its client has disconnected
//!    ├─ the permits are held until the head or the end of the response (ReleaseAt)
//!    ├─ and for as long as the application keeps a PermitHandle
//!    └─ and taken back early if the response is read too slowly, or after Concurrency::max_hold
//! ```
//!
//! The [`Discipline`] determines the order in which the queue is served, and which waiting requests
//! are refused under overload. An [`AdaptiveLimit`] adjusts the limit automatically.
//! [`GateStatuses`] selects the status codes of refusals.
//!
//! A gate counts only the requests of this process, unless its limit is [shared](Concurrency::shared)
//! by several nodes. A running request is never interrupted: it
//! continues even if its permit is taken back or the limit is lowered.

mod by_key;
mod concurrency;
mod lease;
mod options;
mod registry;
mod share;
mod stage;
mod sweeper;
mod waiting;

#[doc(no_inline)]
pub use waiting_room_core::gate::{
    AdaptiveLimit, AdaptiveRules, Aimd, Demand, Discipline, DrainQueue, FixedLimit, GateOutcomes,
    GateSnapshot, Gradient2, NodeShare, PermitOutcome, Sample, SharedConcurrency, Tenants, Vegas,
};

pub use self::{
    concurrency::Concurrency,
    lease::PermitHandle,
    options::{ClientDeadline, GateStatuses, ReleaseAt},
};
pub(crate) use self::{
    lease::{BodyPermits, Permits, min_rate},
    registry::{GateLine, GateRef, GateSet},
    stage::{GateStage, Gated},
    waiting::{Waited, Waiting},
};
