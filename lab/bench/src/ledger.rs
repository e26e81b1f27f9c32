//! The process of the global ledger with many sites, and PostgreSQL as its keeper.
//!
//! ```text
//!  this process                               child process, one thread
//!  sites: SiteLedger + LedgerLink ── HTTP/2 ──── LedgerServer, Holder ──── PostgreSQL, with fsync
//! ```
//!
//! Idle sites only keep their leases. At full sites, more visitors arrive than there are slots for, so
//! each arrival asks for a slot. The time of an answer runs from the report of a site to the grant
//! that answers it, and includes the commit.

mod bench;
mod memory;
mod process;
mod site;

pub(crate) use self::{bench::run, memory::MEMORY, process::serve};
