//! The ledger of the whole world.

mod accounts;
mod ledger;
mod split;
mod talk;

pub use self::ledger::GlobalLedger;
