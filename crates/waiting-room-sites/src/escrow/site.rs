//! The ledger of one site.

mod account;
mod ledger;
mod talk;
mod verbs;

pub use self::ledger::SiteLedger;
