//! The holder: the process that is the global ledger of a room, and the standbys that replace it.
//!
//! ```text
//!            nothing new for `patience`              fenced, released
//!  standby ─────────────────────────────► holding ───────────────────► standby
//!     ▲  watch, each `look`                  │ messages, while the batch before is stored
//!     └──────────────────────────────────────┤ keep: stored, and still ours?
//!                                            ▼
//!                                     only now, the answers
//! ```
//!
//! # Why no answer of an earlier term does harm
//!
//! Each batch is stored before its answers are sent, even if it contains no change, and the keeper
//! refuses the batch if another process has taken over. A lease runs from the time at which its
//! site sent the message that is answered. The site sent it before the batch was stored, and thus
//! before any later take-over. So a lease that is renewed here is over before the next ledger
//! counts it as over, however late the answer arrives. The totals of a grant are stored, so the
//! next ledger knows these totals.
//!
//! For the same reason, a process that was suspended does no harm. After it is resumed, the process
//! sends no answers of its old term: answers that could not be sent within [`FRESH`] of the
//! start of their batch are dropped. Sites ask again.

mod desk;
mod events;
mod gauges;
mod presence;
mod reception;
mod run;
mod term;
#[cfg(test)]
mod tests;
mod times;

pub(crate) use self::{
    events::{Delivery, Event, OpenRefused, StreamId},
    gauges::count_refused_stream,
};
pub use self::{
    events::{HolderHandle, Order, OrderError, Role},
    run::Holder,
    term::FRESH,
    times::HolderTimes,
};
