//! One limit for the waiting rooms of several sites: the store of a site's room, and the process of the
//! global ledger.
//!
//! The global ledger hands out the slots of the limit, and each site admits visitors to the slots that it
//! holds, without a round trip. [`SiteStore`] is the store of a site's room. A holder is the global ledger of
//! one room, or a standby that replaces it. A holder keeps its state in memory, and stores each
//! change in a keeper, which outlives the holder, before it answers.
//!
//! ```text
//!  site 1 ─ SiteStore ──┐                       ┌─ holder, term 4 ─┐
//!  site 2 ─ SiteStore ──┼── HTTP/2 ── the program                  ├─ keeper: PostgreSQL
//!  site 3 ─ SiteStore ──┘                       └─ holder, standby ┘
//!  an operator ─────────┘
//! ```
//!
//! The number of messages depends on the number of sites, not on the number of visitors. A site
//! that has nothing to report sends eight messages per lease, and a site that admits visitors at
//! the limit sends a few per second.
//!
//! # The promise
//!
//! Under [`Policy::Escrow`], which is the default, the active visitors of all sites never exceed the limit,
//! whatever happens to messages, sites and ledgers, under these conditions:
//!
//! - The keeper loses nothing that it has acknowledged. The program refuses servers whose settings do not
//!   guarantee that.
//! - No clock runs backwards, and no two clocks drift apart by more than the
//!   [margin](EscrowRules::drift_margin) during a lease and a session.
//! - A site that an operator has fenced is switched off.
//!
//! No visitor is queued while a slot is free anywhere, as long as the sites reach the global ledger
//! well within the [bounded wait](EscrowRules::borrow_wait). A site that is cut off continues with
//! the slots that it holds, until its [lease](EscrowRules::lease) ends. From then on, it admits no
//! new visitor.
//!
//! # The program
//!
//! `waiting-room-ledger serve` runs a holder for each room. Two or more such processes on different
//! machines are one ledger and its standbys. `docs/operations.md` shows all commands.
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
//! | `cli` (default) | the program `waiting-room-ledger`, which a site does not need |
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
mod keeper;
mod link;
#[cfg(test)]
mod logged;
#[cfg(any(test, feature = "model"))]
#[doc(hidden)]
pub mod model;
#[cfg(feature = "cli")]
mod program;
mod server;
#[cfg(feature = "site")]
mod site;
mod slots;
mod wire;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use self::program::main;
#[cfg(feature = "site")]
pub use self::site::{Policy, SiteOptions, SiteStore};
pub use self::{
    escrow::EscrowRules,
    link::{Dial, TcpDial},
    slots::SiteId,
    wire::{KeyError, SharedKeys},
};
