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
//! `room.rs` has the verbs. `sessions.rs` keeps the active visitors, `line.rs` the waiting ones in
//! the orders of `orders.rs`, and `estimate.rs` the measured rates. `rules.rs` and `options.rs` are
//! the operator's choices; `verdict.rs` and `snapshot.rs` are the answers.
//!
//! A room knows no network and no tokens: a store serializes the calls, and a layer seals passes
//! and tickets for the clients.

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
