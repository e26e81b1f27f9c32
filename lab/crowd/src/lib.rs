//! A crowd of HTTP clients in front of a shop, and a witness to what the waiting room tells them.
//!
//! ```text
//!  seed ─► Plan, one for each visitor ─► Visitor ══ HTTP ══► the shops
//!                                           │ what was sent and seen, and when
//!                                           ▼
//!                                        Witness ─► Oracle ─► Outcome
//! ```
//!
//! The plans and the oracle are those of `waiting-room-sim`. Each visitor is a client of its own, with
//! its own connections and cookies. Its behaviour is drawn before it arrives, so a seed reproduces a
//! crowd; the answers that it gets are up to the room. It obeys `Retry-After` and `Refresh`, and never
//! returns earlier. The [`Outcome`] is computed only from what the visitors saw.
//!
//! The programs `cluster` and `sites` send a crowd to several nodes, inject faults, and report the faults
//! to the [`Witness`].
//!
//! # What it does not do
//!
//! It reads no push streams.

mod answer;
mod calls;
mod claims;
mod client;
mod crowd;
mod draw;
mod flight;
mod latencies;
mod outcome;
mod trips;
mod visitor;
mod witness;

use shop::RoomArgs;
use waiting_room_sim::Limits;

pub use crate::{
    calls::Calls,
    crowd::Crowd,
    draw::Recomputed,
    latencies::Latencies,
    outcome::Outcome,
    trips::{Tally, Trips},
    witness::{Admissions, Witness},
};

/// The promises of a shop whose room has these rules.
#[must_use]
pub fn promises(room: &RoomArgs) -> Limits {
    Limits {
        total_active_users: room.limit,
        new_users_per_minute: Some(room.rate),
        session_duration: room.session(),
        place_retention: room.place_retention,
        refresh_interval: room.refresh_interval,
    }
}
