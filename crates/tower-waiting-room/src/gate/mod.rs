//! The gate: how many requests run at once.
//!
//! ```text
//!  enter ─► each gate that covers the request: by key first, the whole service last
//!    │ permits of all                 │ one has none at the moment
//!    ▼                                ▼
//!  Held ◄── granted ── Waiting: grant before timer, and the body watched for a client that leaves
//!    │
//!    ├─ until the response's head, or the end of its body
//!    ├─ and as long as the application keeps a PermitHandle
//!    └─ unless nobody reads the body: the sweeper
//! ```
//!
//! Who may run and who waits is decided in `waiting_room_core`; here is what a request, a body and
//! a client have to do with it.

mod choices;
mod client_deadline;
mod concurrency;
mod held;
mod named;
mod set_up;
mod stage;
mod sweeper;
mod waiting;
#[cfg(feature = "axum")]
mod watch;

#[cfg(feature = "axum")]
pub(crate) use self::watch::axum_body;
pub use self::{
    choices::{GateStatuses, Hold},
    client_deadline::ClientDeadline,
    concurrency::Concurrency,
    held::PermitHandle,
};
pub(crate) use self::{
    held::{HeldAll, HeldByBody},
    named::NamedGate,
    stage::{GateStage, Gated},
    waiting::{Queued, Waited, Waiting},
};
