//! Handles by which an operator observes and changes a layer while it serves.
//!
//! ```text
//! WaitingRoomLayer ── handle() ──► WaitingRoomHandle ── room() ───────► RoomHandle
//!                                                    ├─ limits() ─────► LimitsHandle
//!                                                    └─ gate("name") ─► GateHandle
//! ```
//!
//! A handle is a reference to the state that the services of the layer share: it can be cloned, sent
//! to another task, and kept for as long as the process runs. Handles do not authenticate their
//! caller; the application decides who reaches them.

mod gate;
mod layer;
mod limits;
#[cfg(feature = "room")]
mod room;

#[cfg(feature = "room")]
pub use self::room::RoomHandle;
pub use self::{gate::GateHandle, layer::WaitingRoomHandle, limits::LimitsHandle};
