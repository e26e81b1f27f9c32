//! Tests of a service behind `tower-waiting-room`, in virtual time.
//!
//! The [`TestClock`] is the time of the room and of tokio's timers at once, and nothing waits in
//! real time: an hour of a sale with 300 visitors takes a few seconds.
//!
//! | to test that … | use |
//! |---|---|
//! | one client gets the right answers | a [`TestClient`], which keeps its cookies |
//! | the service does the right thing in a certain state of the room | a [`RoomState`], such as "full, with 40 visitors in line" |
//! | a crowd is admitted up to the limit, in order and in time | a [`Crowd`], whose [`CrowdRecord`] has the assertions |
//! | a store keeps the contract of [`Store`](waiting_room_core::Store) | [`store_conformance`] |
//!
//! ```text
//!   seed ─► Arrivals, Habits ─► Crowd ─► TestClient ── Request ──► the service under test
//!                                             │  ◄── Response ────  (layer, router, handlers)
//!                 TestClock ── now ───────────┤                          ▲
//!                     └──────────── now ──────┼──────────────────────────┘
//!                                             ▼
//!                                        CrowdRecord: never_above, in_order, never_early, …
//! ```
//!
//! # What the assertions know
//!
//! A record contains what the visitors sent and received, and nothing else: an assertion never
//! looks into the room. A failure can therefore be proven from what clients saw, and the same test
//! works for a service with another waiting room, or with none.
//!
//! # What it does not do
//!
//! Nothing opens a socket, so a test does not cover the server, TLS or a proxy. A room on a server,
//! such as Redis, does not fit a crowd: while a reply is on its way, every task waits, so virtual
//! time jumps and deadlines pass. The browsers of a crowd run no scripts: they obey the `Refresh`
//! header of the waiting page. A seed repeats the behaviour of a crowd, but not the random ids that
//! the layer draws, on which the intervals of check-ins depend.

mod arrivals;
mod client;
mod clock;
pub mod conformance;
mod crowd;
mod habits;
mod record;
mod room_state;
mod seed;
mod seen;
mod visitor;

pub use crate::{
    arrivals::Arrivals,
    client::TestClient,
    clock::{TestClock, run},
    conformance::suite::store_conformance,
    crowd::Crowd,
    habits::Habits,
    record::{AnswerRecord, CrowdRecord, Ending, VisitRecord},
    room_state::{Occupants, RoomState, StateError},
    seed::SEED_VARIABLE,
    seen::{Seen, SeenAs},
};

/// The body of the requests that a [`TestClient`] and a [`Crowd`] send: axum's.
///
/// A service with another body can be adapted with
/// [`map_request`](https://docs.rs/tower/latest/tower/trait.ServiceExt.html#method.map_request).
#[doc(inline)]
pub use axum_core::body::Body;

/// Runs the example of the package's README as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
