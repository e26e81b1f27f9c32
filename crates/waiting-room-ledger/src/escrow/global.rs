//! The global ledger: the limit, and the accounts of all sites.

mod accounts;
mod keep;
mod ledger;
mod list;
mod split;
mod talk;

pub use self::{
    ledger::{GlobalLedger, LaterTerm},
    list::SiteState,
};
