//! The rate-limit stage: which limits apply to a request, and what they decide.
//!
//! ```text
//! RateLimit … ─► LimitSet ─┐                              ┌─ Pass:   the request goes on
//! (code, file)             ├─► RateStage::charge ─► Rated ┼─ Delay:  it goes on in its turn
//! request ─► Caller ───────┘        │                     └─ Refuse: 429
//!                                   └─► Pending: with a store that nodes share, a PendingCharge,
//!                                       and then RateStage::replied goes on with its reply
//! ```
//!
//! A [`RateLimit`] is what the user wrote. A [`Policy`] is the same made ready: with its memory of
//! keys, and with the parts of the headers that never change. A [`LimitSet`] holds those in force;
//! a live change puts others in their place, and takes over the memory of those that stay. What
//! all of them decided about one request is its [`RateReport`].

mod condition;
mod config;
mod diagnosis;
mod handle;
mod limit;
mod limit_set;
mod policy;
mod remote;
mod report;
mod stage;
mod store;
mod stored_keys;
mod turn;

#[cfg(test)]
pub(crate) use self::limit::Cost;
pub(crate) use self::{
    condition::{Condition, Literal},
    config::RateConfig,
    limit_set::{LimitSet, Limits},
    policy::Policy,
    remote::{PendingCharge, StoreReply},
    report::RateReport,
    stage::{RateStage, Rated},
    store::Shared,
    turn::Turn,
};
pub use self::{
    handle::{ChargeHandle, OverSoftLimit},
    limit::{OverLimit, RateLimit},
    store::RateStoreFailure,
};
