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

mod applying;
mod asked;
mod condition;
mod config;
mod failure;
mod limit;
mod limits;
mod literal;
mod policies;
mod policy;
mod queue_place;
mod set_up;
mod shared;
mod source;
mod spend;
mod stage;
mod told;

#[cfg(test)]
pub(crate) use self::limit::Cost;
pub(crate) use self::spend::Now;
pub(crate) use self::{
    config::RateConfig,
    limits::Limits,
    literal::Literal,
    policy::Policy,
    queue_place::QueuePlace,
    shared::{Asking, Shared},
    source::Source,
    stage::RateStage,
    told::{Rated, Told},
};
pub use self::{
    failure::LimitFailure,
    limit::{MissingKey, OverLimit, RateLimit},
    spend::{OverSoftLimit, Spend},
};
