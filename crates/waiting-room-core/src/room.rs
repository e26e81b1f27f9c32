//! One room: limits on active and new visitors, and a line for visitors who have to wait.
//!
//! A room protects an application from more visitors than it can serve, and decides in which order
//! the others get in. It holds the state of one room and changes it in verbs, each at one instant.
//!
//! ```text
//!            enter                  check_in              check_in
//!  newcomer ─────────► first ticket ─────────► place ───────────────► active, with a pass
//!     │                                          │                        │
//!     │ a slot is free for it                    │ leave, or away         │ leave, or
//!     └──────────────► active, with a pass       ▼ for too long           ▼ the pass expires
//!                                              gone                     gone
//! ```
//!
//! [`Room`] has the verbs, and [`RoomRules`] the operator's choices. A request for a slot is
//! answered with a [`Verdict`], which has a [`Reason`] for metrics and logs, and a pass that is due
//! with a [`Renewal`]. [`RoomSnapshot`] holds the numbers for the operator.
//!
//! Each verb first drops everything that has lapsed, so a room needs no background task. It does no
//! I/O, reads no clock and knows no sealed tokens: a [`Store`](crate::Store) serializes the calls,
//! and a layer seals passes and tickets for the clients.

// The parts: `room.rs` has the verbs, and `admission.rs` their conditions. `sessions.rs` keeps the
// active visitors, `line.rs` the waiting ones in the orders of `orders.rs`, and `estimate.rs` the
// measured rates. `timing.rs` derives all intervals from the rules.

mod admission;
mod estimate;
mod line;
mod options;
mod orders;
#[expect(clippy::module_inception, reason = "room.rs is the room; its parts stand beside it")]
mod room;
mod rules;
mod sessions;
mod snapshot;
mod timing;
mod verdict;

pub use self::{
    estimate::WaitEstimate,
    options::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
    room::Room,
    rules::RoomRules,
    snapshot::RoomSnapshot,
    verdict::{Pass, Reason, Renewal, Ticket, Verdict, VisitorId},
};
