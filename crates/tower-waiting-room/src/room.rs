//! The waiting room: a visitor with a valid pass goes through, and a [`Store`] decides about all
//! others.
//!
//! The store holds the state of a room: its sessions, its line and its rules. It may be the memory
//! of this process or a server that several nodes share. Which visitor is admitted, and when, is
//! decided by the store alone. This module adds the part of a node:
//!
//! ```text
//!                    ┌─ valid pass ───────────────────────────► application
//!  request ─► token ─┼─ ticket ──► its pace and time ─► store ─┐    ▲
//!                    └─ neither ─► challenge ─────────► store ─┼────┘ admitted: a pass
//!                                                              └─► waits, is refused: a ticket
//! ```
//!
//! - tokens, from requests and into responses,
//! - the renewal of a pass while the application works, which rarely delays the response,
//! - sessions that the application has ended here ([`Visit`]), until the store has ended them too,
//! - the pace at which tickets may be shown, and an optional challenge before the first ticket
//!   ([`FirstTouch`]),
//! - the policy for outages of the store ([`StoreFailure`]).
//!
//! A valid pass needs no call of the store, except for its renewal. So visitors with a pass depend
//! neither on the latency of the store nor, until their passes expire, on whether it answers.

mod challenge;
mod options;
mod outage;
mod pace;
mod renewal;
mod sessions;
mod stage;

pub use waiting_room_core::{
    MemoryStore, RoomRules, Store, StoreError,
    error::StoreErrorKind,
    room::{
        CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, RoomSnapshot,
        SessionRenewal, WaitEstimate,
    },
};

pub(crate) use self::sessions::Undelivered;
pub(crate) use self::{
    challenge::Challenge,
    options::RoomOptions,
    outage::BoxFuture,
    renewal::PassRenewal,
    stage::{RoomStage, Token, Visitor},
};
pub use self::{challenge::FirstTouch, outage::StoreFailure, sessions::Visit};
pub(crate) use crate::token::{Opened, TOKEN_HEADER, TokenSource};
