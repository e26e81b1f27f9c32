//! The global ledger: the limit, and the accounts of all sites.

mod accounts;
mod ledger;
mod split;
mod talk;

pub use self::ledger::GlobalLedger;
