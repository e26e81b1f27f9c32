//! A room, with limits on active and new visitors, and a line for visitors who have to wait.
//!
//! A room protects an application from more visitors than the application can serve, and decides in
//! which order the waiting visitors are admitted. Each operation changes the state of the room at
//! one instant.
//!
//! ```text
//!            enter                  check_in              check_in
//!  newcomer ─────────► first ticket ─────────► place ───────────────► active, with a pass
//!     │                                          │                        │
//!     │ a slot is free                           │ leave, or away         │ leave, or
//!     └──────────────► active, with a pass       ▼ for too long           ▼ the pass expires
//!                                              gone                     gone
//! ```
//!
//! [`Room`] provides the operations, and [`RoomRules`] contains the operator's settings. A request
//! for a slot is answered with a [`Verdict`], which includes a [`Reason`] for metrics and logs. A
//! request to renew a pass is answered with a [`Renewal`]. A [`RoomSnapshot`] contains the room's
//! figures for the operator.
//!
//! An [event] overrides some of the rules from its start to its end, and can let its visitors
//! wait until the start.
//!
//! Each operation behaves as if all lapsed sessions and places had been removed, so a room needs no
//! background task. A room performs no I/O, reads no clock and does not handle sealed tokens: a
//! [`Store`](crate::Store) serializes the calls, and a layer seals passes and tickets for the
//! clients.

// `room.rs` contains the operations, and `admission.rs` contains the conditions that they check.
// `stay.rs` lets visitors wait without admitting them. `sessions.rs` stores the active visitors,
// and `line.rs` stores the waiting visitors. Both count visitors by network (`networks.rs`), and
// use hash maps (`shards.rs`) and ordered collections (`orders/`). `work.rs` bounds the work of one
// operation. `estimate.rs` measures rates. `timing.rs` derives all intervals from the rules.
// `event.rs` describes events, and `events.rs` applies them, with the state in `course.rs`.
// `head_start.rs` and `returning.rs` order some visitors ahead of the time of their first touch.
// `pass.rs` and `verdict.rs` contain the room's answers.

mod admission;
mod course;
mod estimate;
pub mod event;
mod events;
mod head_start;
mod line;
mod networks;
mod options;
mod orders;
mod pass;
mod reason;
mod returning;
#[expect(clippy::module_inception, reason = "room.rs is the room; the other files are its parts")]
mod room;
mod rules;
mod sessions;
mod settings;
mod shards;
mod snapshot;
mod stay;
mod timing;
mod verdict;
mod work;
mod written;

pub use self::{
    estimate::WaitEstimate,
    head_start::HeadStart,
    options::{CookieTest, QueueingMethod, Recovery, RoomMode, SessionRenewal, Shares},
    pass::{Network, Pass, PassHome, VisitorId},
    room::Room,
    rules::RoomRules,
    settings::{Setting, SettingValue},
    snapshot::{EventFigures, RoomNode, RoomSnapshot},
    timing::Timing,
    verdict::{Reason, Renewal, Ticket, Verdict},
};
