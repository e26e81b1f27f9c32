//! The room's side of a layer: what this node knows of sessions, and what it does without a store.

mod outage;
mod renewal;
mod sessions;

pub use self::{outage::StoreFailure, sessions::Visit};
pub(crate) use self::{
    outage::{BoxFuture, Outage, Question},
    renewal::PassRenewal,
    sessions::{Sessions, Stale},
};
