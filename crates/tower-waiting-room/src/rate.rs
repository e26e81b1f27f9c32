//! The rate-limit stage: which limits apply to a request, and what they say.
//!
//! ```text
//! RateLimit … ─► Policies ─┐                        ┌─ pass: go on, and tell the numbers
//! (code, file)             ├─► RateStage::ask ─► Told ── hold: go on after a while
//! request ─► Caller ───────┘                        └─ refuse: 429
//! ```
//!
//! With a store that nodes share, `ask` gives an [`Asking`] instead, and `RateStage::answered` goes
//! on with what the store has said.
//!
//! A [`RateLimit`] is what the user wrote. A [`Policy`] is the same made ready: with its memory of
//! keys, and with the parts of the headers that never change. [`Policies`] are those in force; a
//! live change puts others in their place, and takes over the memory of those that stay.

mod charge;
mod condition;
mod config;
mod diagnosis;
mod failure;
mod handle;
mod held_request;
mod limit;
mod limit_set;
mod matching;
mod policies;
mod policy;
mod remote;
mod report;
mod source;
mod stage;

pub(crate) use self::handle::Now;
#[cfg(test)]
pub(crate) use self::limit::Cost;
pub(crate) use self::{
    config::RateConfig,
    held_request::QueuePlace,
    limit_set::Limits,
    policy::Policy,
    remote::{Asking, Shared},
    report::{Rated, Told},
    source::Source,
    stage::RateStage,
};
pub use self::{
    failure::LimitFailure,
    handle::{OverSoftLimit, Spend},
    limit::{MissingKey, OverLimit, RateLimit},
};
