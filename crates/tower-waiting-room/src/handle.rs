//! Handles through which an operator observes and changes a layer while it serves requests.
//!
//! ```text
//! WaitingRoomLayer ── handle() ──► WaitingRoomHandle ── room() ───────► RoomHandle
//!                                                    ├─ limits() ─────► LimitsHandle
//!                                                    └─ gate("name") ─► GateHandle
//! ```
//!
//! A handle is a reference to the state that the services of the layer share. A handle can be
//! cloned, sent to another task, and kept for as long as the process runs. Handles do not
//! authenticate their callers, so the application must control access to them.

#[cfg(feature = "room")]
mod auto_tune;
mod gate;
mod layer;
mod limits;
mod limits_report;
#[cfg(feature = "room")]
mod room;

#[cfg(feature = "room")]
pub use self::{
    auto_tune::{AutoTune, LastTuning, Tuner, Tuning, TuningCause},
    room::RoomHandle,
};
pub use self::{
    gate::GateHandle,
    layer::WaitingRoomHandle,
    limits::LimitsHandle,
    limits_report::{LimitReport, LimitsReport},
};
pub use crate::telemetry::VisitorWait;
