//! The waiting room: visitors with a valid pass are let through, and a [`Store`] decides on all
//! other visitors.
//!
//! The store holds the state of a room: its sessions, its line and its rules. The state is kept in
//! the memory of this process or on a server that several nodes share. The store alone decides
//! which visitors are admitted, and when. This module implements the node's part:
//!
//! ```text
//!                    ┌─ valid pass ───────────────────────────► application
//!  request ─► token ─┼─ ticket ──► its pace and time ─► store ─┐    ▲
//!                    └─ neither ─► challenge ─────────► store ─┼────┘ admitted: a pass
//!                                                              └─► waits, is refused: a ticket
//! ```
//!
//! - Tokens are read from requests and added to responses.
//! - Passes are renewed while the application handles the request, which rarely delays the
//!   response.
//! - Sessions that the application has ended on this node ([`Visit`]) are remembered until their
//!   passes have expired.
//! - The pace at which tickets may be presented is bounded, and newcomers can be challenged before
//!   their first ticket ([`FirstTouch`]).
//! - Waiting visitors can follow their places over streams of server-sent events ([`Push`]).
//! - Visitors with a pass from another site get a slot and a pass of this site, ahead of the line.
//! - Some visitors get a head start in the line, crawlers bypass the line, and visitors whose
//!   sessions have lapsed return ahead of the line.
//! - Waiting visitors can leave, or continue on another device, with a POST to a path that the
//!   layer answers itself.
//! - During an outage of the store, a policy ([`StoreFailure`]) decides whether visitors are
//!   admitted.
//!
//! A valid pass requires no call to the store, except for its renewal. Visitors with a pass
//! therefore do not depend on the latency of the store or, until their passes expire, on its
//! availability.
//!
//! [`Store`]: waiting_room_core::Store

mod challenge;
mod ends;
#[cfg(all(feature = "axum", feature = "room"))]
mod extract;
#[cfg(feature = "room")]
mod moves;
#[cfg(feature = "room")]
mod options;
mod outage;
mod pace;
mod people;
mod post_path;
mod push;
mod renewal;
#[cfg(feature = "room")]
mod sessions;
#[cfg(feature = "room")]
mod stage;
#[cfg(feature = "room")]
mod store;
mod streams;
mod visitor;

#[doc(no_inline)]
pub use waiting_room_core::{
    MemoryStore, RoomRules, StoreError,
    error::StoreErrorKind,
    room::{
        CookieTest, QueueingMethod, Recovery, RoomMode, RoomNode, RoomSnapshot, SessionRenewal,
        Shares, WaitEstimate,
    },
};

/// Scheduled events: the types for [`event`](crate::config::WaitingRoomConfigBuilder::event) and
/// for the [handle](crate::handle::RoomHandle::set_schedule).
#[cfg(feature = "room")]
pub mod event {
    #[doc(no_inline)]
    pub use waiting_room_core::room::event::{
        Commitment, Entrant, Event, Lottery, Phase, Reveal, Schedule, Seed, Shuffle,
    };
}

#[cfg(all(feature = "axum", feature = "room"))]
pub use self::extract::MissingVisit;
#[cfg(feature = "room")]
pub use self::sessions::Visit;
pub(crate) use self::{
    challenge::Challenge,
    outage::BoxFuture,
    people::{Crawlers, IdentityOf, Priority},
    post_path::PostPath,
    renewal::PassRenewal,
    streams::{NotOpened, StreamPlace, Streams},
    visitor::{Token, Visitor},
};
pub use self::{challenge::FirstTouch, outage::StoreFailure, push::Push};
pub(crate) use self::{ends::Undelivered, people::OTHER_PERSON};
#[cfg(feature = "room")]
pub(crate) use self::{
    options::RoomOptions,
    stage::{RoomStage, TRANSFER_HEADER},
    store::{Operated, SharedRoom},
};
pub(crate) use crate::token::{Opened, TOKEN_HEADER, TokenSource};
