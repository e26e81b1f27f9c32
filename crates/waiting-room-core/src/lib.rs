//! State machines for a waiting room, for rate limits and for a gate, without I/O.
//!
//! A [`Room`] decides which of many visitors may use a service now, and in what order the others
//! are admitted. A [`Limiter`] decides whether a client may make a request. A [`Gate`] decides how
//! many requests run at once. All three are plain state machines. The current time is an argument
//! of a method, or is read from a [`Clock`](time::Clock) that the caller can replace. All random
//! values come from the caller: each [`VisitorId`], the seed of a gate, and the secret of a key
//! hasher. The crate opens no socket, never sleeps and never awaits. It computes *when* a client
//! should come back, and the caller does the waiting.
//!
//! # The room
//!
//! ```text
//!            enter ──► Admit(Pass) ──renew──► Pass ──renew──► … ──leave / lapse──► slot is free
//!              │             ▲
//!              ▼             │ fewer than `free` present visitors are ahead
//!        Wait(Ticket) ──check_in──► Wait(Ticket) ──check_in──► …
//!          no place      a place in the line
//! ```
//!
//! | word | meaning |
//! |---|---|
//! | room | one set of limits and its state, under one name |
//! | visitor | one browser session or API client, identified by its [`VisitorId`] |
//! | slot | the right of one visitor to be active |
//! | pass | proof that a visitor was admitted, valid until a time ([`Pass`]) |
//! | ticket | proof of a place in line ([`Ticket`]) |
//! | line | the visitors who are waiting, in order |
//! | verdict | the decision of the room: admit, wait or refuse, always with a [`Reason`] |
//! | store | the place where the state of a room is kept ([`Store`], [`MemoryStore`]) |
//!
//! # Rate limits
//!
//! A [`Limiter`] applies a [`Quota`] to each of many keys, using one of six
//! [algorithms](rate::Algorithm). `charge_all` charges several limiters at
//! once: either all are charged, or none are.
//!
//! A limiter remembers a fixed number of keys. If its table has no free place for a new key, the
//! new key displaces the least used key in the same part of the table. The limiter remembers the
//! usage of a displaced key for the key's [network](rate::KeyHash::of_network), and every key of
//! that network that has no place starts with the remembered usage. As a result, idle keys are
//! displaced first, a client over its limit gains nothing by being displaced, and a flood of keys
//! affects only new keys of the same network.
//!
//! # The gate
//!
//! A [`Gate`] lets a limited number of requests run at once. Further requests wait in a bounded
//! queue, each as an [`Acquire`](gate::Acquire) future that resolves to a [`Permit`](gate::Permit).
//! Requests that can neither run nor wait are refused, usually with a retry time. Dropping a permit
//! passes it to the next waiter, and dropping an `Acquire` frees its place in the queue
//! immediately.
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
//! // The room has one slot: the first visitor is admitted, and the second waits.
//! let ann = VisitorId::new(1);
//! let bob = VisitorId::new(2);
//! assert!(matches!(room.enter(ann, now), Verdict::Admit { .. }));
//! let Verdict::Wait { ticket, .. } = room.enter(bob, now) else { panic!("the room is full") };
//!
//! // After the first visitor has left, the second is admitted at its next check-in.
//! room.leave(ann, now + Duration::from_secs(1));
//! let verdict = room.check_in(&ticket, ticket.next_check_in);
//! assert!(matches!(verdict, Verdict::Admit { .. }));
//! # Ok::<(), waiting_room_core::ConfigError>(())
//! ```
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `lottery` | [draws](room::event#a-verifiable-draw) that every entrant can recompute |
//! | `serde` | serialization of rules and quotas, which a store shared by several nodes requires, and of snapshots |

#![cfg_attr(docsrs, feature(doc_cfg))]

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
