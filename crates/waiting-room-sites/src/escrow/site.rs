//! The ledger of one site.

mod account;
mod ledger;
mod line;
mod talk;
mod verbs;

pub use self::ledger::SiteLedger;
