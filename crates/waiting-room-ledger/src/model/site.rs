//! The ledger of one site.

mod account;
mod answer;
mod demand;
mod ledger;
mod line;
mod sessions;
mod talk;
mod verbs;

pub use self::{
    answer::{Admission, Prolonged, SiteAction},
    ledger::SiteLedger,
};
