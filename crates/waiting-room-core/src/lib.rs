//! The rules of a waiting room, without I/O.
//!
//! A [`Room`] decides who of many visitors may use a service now, and in which order the others
//! follow. It is a plain state machine: the time is an argument of every verb and the only chance
//! in it is the random [`VisitorId`] that the caller brings. It opens no socket, reads no clock,
//! never sleeps and never awaits; it answers *when*, and somebody else waits.
//!
//! ```text
//!            enter ──► Admit(Pass) ──renew──► Pass ──renew──► … ──leave / lapse──► slot is free
//!              │             ▲
//!              ▼             │ fewer than `free` present visitors stand before
//!        Wait(Ticket) ──check_in──► Wait(Ticket) ──check_in──► …
//!          no place      a place in the line
//! ```
//!
//! | word | means |
//! |---|---|
//! | room | one set of limits and its state, under one name |
//! | visitor | one browser session or API client, known by its [`VisitorId`] |
//! | slot | the right of one visitor to be active |
//! | pass | proof that a visitor was let in, until a time ([`Pass`]) |
//! | ticket | proof of a place in line ([`Ticket`]) |
//! | line | the visitors who wait, in order |
//! | verdict | what the room says: admit, wait, refuse, always with a [`Reason`] |
//! | store | where a room's shared state lives ([`Store`], [`MemoryStore`]) |
//!
//! # Rate limits
//!
//! A [`Limiter`] keeps a [`Quota`] for many keys, by one of six [`Algorithm`]s; [`charge_all`] asks
//! several at once, all or nothing. It remembers a fixed number of keys: one that finds no place
//! takes that of the least used key near it, and what that one had used is kept for its
//! [network](KeyHash::of_network), of which every key without a place starts with it. So an idle key
//! makes room first, no client that is over a limit is forgiven by being forgotten, and a flood of
//! keys refuses newcomers of its own network alone.
//!
//! # The gate
//!
//! A [`Gate`] lets a number of requests run at once. Some more wait in order, each as a [`Acquire`]
//! that becomes a [`Permit`]; the rest are told when to come back. Whatever is dropped is given
//! back: a permit goes to the next, and a place is free at once.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use waiting_room_core::{Room, RoomRules, Timestamp, Verdict, VisitorId};
//!
//! let mut room = Room::new(RoomRules::new("shop", 1))?;
//! let now = Timestamp::from_secs(1_000);
//!
//! // One slot: the first visitor gets it, the second waits.
//! let (ann, bob) = (VisitorId::new(1), VisitorId::new(2));
//! assert!(matches!(room.enter(ann, now), Verdict::Admit { .. }));
//! let Verdict::Wait { ticket, .. } = room.enter(bob, now) else { panic!("the room is full") };
//!
//! // The first visitor leaves; the second is let in at the next check-in.
//! room.leave(ann, now + Duration::from_secs(1));
//! let verdict = room.check_in(&ticket, ticket.next_check_in);
//! assert!(matches!(verdict, Verdict::Admit { .. }));
//! # Ok::<(), waiting_room_core::ConfigError>(())
//! ```

pub mod error;
pub mod gate;
mod memory;
pub mod rate;
pub mod room;
mod store;
mod sync;
pub mod time;

pub use crate::{
    error::{ConfigError, StoreError},
    gate::Gate,
    memory::MemoryStore,
    rate::{Limiter, Quota},
    room::{Pass, Reason, Room, RoomRules, Ticket, Verdict, VisitorId},
    store::Store,
    time::Timestamp,
};
