//! The global ledger as a process: one limit for many sites, kept by engines that crash.
//!
//! [`waiting_room_sites::escrow`] describes the method: a global ledger hands out the slots of one
//! limit, and the sites admit visitors to the slots that they hold. Its ledgers are pure. This crate
//! gives the global one a process: state in memory, a [keeper](LedgerKeeper) that outlives it,
//! standbys that replace it, and a wire to the sites.
//!
//! ```text
//!  site 1 ─ LedgerLink ──┐                       ┌─ Holder, term 4 ─┐
//!  site 2 ─ LedgerLink ──┼── HTTP/2 ── LedgerServer                 ├─ keeper: PostgreSQL
//!  site 3 ─ LedgerLink ──┘                       └─ Holder, standby ┘
//!  operator ─ OperatorLink ─┘
//! ```
//!
//! Messages go with sites, not with visitors. A site without news sends eight in the time of a
//! lease, and one that admits visitors at the limit a few each second.
//!
//! # Example
//!
//! A ledger and a site in one process, with a keeper for tests:
//!
//! ```
//! use tokio::net::TcpListener;
//! use waiting_room_ledger::{
//!     Holder, HolderTimes, LedgerLink, LedgerServer, LinkOptions, ServerKeys, SharedKeys, TcpDial,
//!     keeper::MemoryKeeper,
//! };
//! use waiting_room_sites::{
//!     SiteId,
//!     escrow::{EscrowRules, Incarnation, Term, ToSite},
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keys = SharedKeys::parse(&"0123456789abcdef".repeat(4))?;
//! let (paris, rules) = (SiteId::new(1), EscrowRules::new());
//!
//! let keeper = MemoryKeeper::new(200, [paris], rules);
//! let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
//! tokio::spawn(holder.run(std::future::pending()));
//! let server = LedgerServer::new([("shop".into(), handle.clone())], ServerKeys::new(keys.clone()));
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?.to_string();
//! tokio::spawn(async move { server.listen(&listener).await });
//! assert_eq!(handle.holding().await, Some(Term::new(1)));
//!
//! let life = (paris, Incarnation::new(7));
//! let options = LinkOptions::new("shop", life, &rules, [address], keys);
//! let mut link = LedgerLink::connect(TcpDial::new(), options);
//! assert_eq!(link.receive().await, Some(ToSite::Report { term: Term::new(1) }));
//! # Ok(())
//! # }
//! ```
//!
//! # The program
//!
//! `waiting-room-ledger serve` runs a [`LedgerServer`] and a [`Holder`] for each room. Two or more of
//! them on different machines are one ledger and its standbys. `docs/operations.md` shows all
//! commands. Small set-ups run the same parts inside a process of their own.
//!
//! # What it does not do
//!
//! It decides about no visitor: that is what the ledgers of the sites do. It encrypts nothing: the
//! frames are sealed, so they cannot be forged, repeated or reordered, but they can be read. It does not
//! elect anything by itself: the keeper says which process holds a room.

mod holder;
pub mod keeper;
mod link;
#[cfg(test)]
mod logged;
mod server;
#[cfg(feature = "site")]
mod site;
mod wire;

#[cfg(feature = "site")]
pub use self::site::{Policy, SiteOptions, SiteStore};
pub use self::{
    holder::{FRESH, Holder, HolderHandle, HolderTimes, Order, OrderError, Role},
    keeper::LedgerKeeper,
    link::{Dial, LedgerLink, LinkOptions, LinkState, OperatorError, OperatorLink, TcpDial},
    server::{LedgerServer, ServerKeys},
    wire::{KeyError, SharedKeys},
};
