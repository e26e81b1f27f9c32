//! One limit for the waiting rooms of several sites: the store of a site's room, and the process of the
//! global ledger.
//!
//! The global ledger hands out the slots of the limit, and each site admits visitors to the slots that it
//! holds, without a round trip. [`SiteStore`] is the store of a site's room. A [`Holder`] is the global
//! ledger of one room, or a standby that replaces it. It keeps its state in memory, and stores each change
//! in a [keeper](LedgerKeeper), which outlives it, before it answers.
//!
//! ```text
//!  site 1 ─ SiteStore ──┐                       ┌─ Holder, term 4 ─┐
//!  site 2 ─ SiteStore ──┼── HTTP/2 ── LedgerServer                 ├─ keeper: PostgreSQL
//!  site 3 ─ SiteStore ──┘                       └─ Holder, standby ┘
//!  operator ─ OperatorLink ─┘
//! ```
//!
//! The number of messages depends on the number of sites, not on the number of visitors. A site
//! that has nothing to report sends eight messages in the time of a lease, and a site that admits
//! visitors at the limit sends a few each second.
//!
//! # The promise
//!
//! Under [`Policy::Escrow`], which is the default, the active visitors of all sites never exceed the limit,
//! whatever happens to messages, sites and ledgers, under these conditions:
//!
//! - The keeper loses nothing that it has acknowledged. A
//!   [`PostgresKeeper`](keeper::PostgresKeeper) refuses servers whose settings do not guarantee
//!   that.
//! - No clock runs backwards, and no two clocks drift apart by more than the
//!   [margin](EscrowRules::drift_margin) in the time of a lease and a session.
//! - A site that an operator has [fenced](Order::Fence) is switched off.
//!
//! No visitor is queued while a slot is free anywhere, as long as the sites reach the global ledger
//! well within the [bounded wait](EscrowRules::borrow_wait). A site that is cut off continues with
//! the slots that it holds, until its [lease](EscrowRules::lease) ends. Then it admits no new
//! visitor.
//!
//! # Example
//!
//! A ledger and its operator in one process, with a keeper for tests:
//!
//! ```
//! use tokio::net::TcpListener;
//! use waiting_room_ledger::{
//!     EscrowRules, Holder, HolderTimes, LedgerServer, OperatorLink, Order, ServerKeys, SharedKeys,
//!     SiteId, TcpDial, Term, keeper::MemoryKeeper,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keeper = MemoryKeeper::new(200, [SiteId::new(1), SiteId::new(2)], EscrowRules::new());
//! let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
//! tokio::spawn(holder.run(std::future::pending()));
//! assert_eq!(handle.holding().await, Some(Term::new(1)));
//!
//! let of_sites = SharedKeys::parse(&"0123456789abcdef".repeat(4))?;
//! let of_operators = SharedKeys::parse(&"fedcba9876543210".repeat(4))?;
//! let keys = ServerKeys::new(of_sites).operators(of_operators.clone());
//! let server = LedgerServer::new([("shop".into(), handle)], keys);
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?.to_string();
//! tokio::spawn(async move { server.listen(&listener).await });
//!
//! let operator = OperatorLink::new(TcpDial::new(), [address], "shop", of_operators);
//! let status = operator.order(Order::Status).await?;
//! assert!(status.starts_with("term 1, limit 200, held 0, free 200"));
//! # Ok(())
//! # }
//! ```
//!
//! # The program
//!
//! `waiting-room-ledger serve` runs a [`LedgerServer`] and a [`Holder`] for each room. Two or more of
//! them on different machines are one ledger and its standbys. `docs/operations.md` shows all
//! commands. Small deployments run the same parts inside a process of their own.
//!
//! # What it does not do
//!
//! The ledger does not decide about visitors: the rooms of the sites do. It encrypts nothing: the
//! frames are sealed, so they cannot be forged, repeated or reordered, but they can be read. It
//! does not elect a leader: the keeper determines which process holds a room.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` (default) | the program `waiting-room-ledger`; a service that runs a [`Holder`] of its own does not need it |
//! | `postgres` (default) | [`PostgresKeeper`](keeper::PostgresKeeper), which keeps everything in PostgreSQL |
//! | `site` (default) | [`SiteStore`], the room of a site on Redis or Valkey |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(
        clippy::match_wildcard_for_single_variants,
        clippy::wildcard_enum_match_arm,
        reason = "an answer that a test does not expect fails the test"
    )
)]
#![cfg_attr(
    not(any(test, feature = "model")),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "`model` exports more of the parts"
    )
)]

mod escrow;
mod holder;
pub mod keeper;
mod link;
#[cfg(test)]
mod logged;
#[cfg(any(test, feature = "model"))]
#[doc(hidden)]
pub mod model;
mod server;
#[cfg(feature = "site")]
mod site;
mod slots;
mod wire;

#[cfg(feature = "site")]
pub use self::site::{Policy, SiteOptions, SiteStore};
pub use self::{
    escrow::{Epoch, EscrowRules, Incarnation, ListRefused, Term},
    holder::{FRESH, Holder, HolderHandle, HolderTimes, Order, OrderError, Role},
    keeper::LedgerKeeper,
    link::{Dial, OperatorError, OperatorLink, TcpDial},
    server::{LedgerServer, ServerKeys},
    slots::SiteId,
    wire::{KeyError, SharedKeys},
};
