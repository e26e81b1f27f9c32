//! The gate: how many requests run at once.
//!
//! ```text
//!  enter ─► each gate that covers the request: by key first, the whole service last
//!    │ permits of all                 │ one has none at the moment
//!    ▼                                ▼
//!  Permits ◄ granted ── Waiting: grant before timer, and the body watched for a client that leaves
//!    │
//!    ├─ until the response's head, or the end of its body
//!    ├─ and as long as the application keeps a PermitHandle
//!    └─ unless nobody reads the body: the sweeper
//! ```
//!
//! Who may run and who waits is decided in `waiting_room_core`; here is what a request, a body and
//! a client have to do with it.

mod concurrency;
mod lease;
mod options;
mod registry;
mod stage;
mod sweeper;
mod waiting;

pub use self::{
    concurrency::Concurrency,
    lease::PermitHandle,
    options::{ClientDeadline, GateStatuses, ReleaseAt},
};
pub(crate) use self::{
    lease::{BodyPermits, Permits, body_read_timeout},
    registry::{GateLine, GateRef},
    stage::{GateStage, Gated},
    waiting::{Waited, Waiting},
};
