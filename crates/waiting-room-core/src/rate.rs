//! Rate limits: how much of something may be used in a time, per key.
//!
//! A [`Quota`] says how much, an [`Algorithm`] how that is meant at the edges. Each algorithm is a
//! [`Meter`]: plain integer arithmetic on the state of one key, with the time and the cost as
//! arguments. A [`Limiter`] keeps the states of many keys in bounded memory, and [`charge_all`]
//! asks several limiters at once: either all are charged or none.
//!
//! ```text
//! Quota + Algorithm ─► Meter ─┐
//!                             ├─► Limiter ─┐
//! KeyHash ─► table of states ─┘            ├─► charge_all ─► Decision for each, Charges
//!                              Limiter … ──┘
//! ```
//!
//! Where many nodes share a limit, a [`RateStore`] takes the place of limiters and `charge_all`.
//!
//! | algorithm | a burst of | in any window at most | state | good for |
//! |---|---|---|---|---|
//! | token bucket, GCRA | the capacity | twice the limit, less one | 8 bytes | most limits |
//! | leaky queue | the capacity, spread out | as GCRA | 8 bytes | a steady flow to the service |
//! | fixed window | the limit | twice the limit | 16 bytes | quotas of a day or a month |
//! | sliding log | the limit | the limit | 8 bytes for each time | limits that must be exact |
//! | sliding counter | the limit | twice the limit | 24 bytes | large limits, nearly exact |

mod decision;
mod event_log;
mod fixed_window;
mod gcra;
mod key;
mod leaky_queue;
mod limiter;
mod memory;
mod meter;
mod quota;
mod set;
mod sliding_counter;
mod sliding_log;
mod store;
mod table;
mod tick_log;
mod token_bucket;

#[cfg(test)]
mod tests;

pub(crate) use self::event_log::EventLog;
pub use self::{
    decision::{Charge, Decision},
    fixed_window::{FixedWindow, FixedWindowState},
    gcra::Gcra,
    key::{KeyHash, KeyHasher},
    leaky_queue::LeakyQueue,
    limiter::Limiter,
    meter::Meter,
    quota::{Algorithm, Alignment, Quota, Refusals},
    set::{LimiterCharge, charge_all},
    sliding_counter::{SlidingCounter, SlidingCounterState},
    sliding_log::SlidingLog,
    store::{ChargeReply, ChargeRequest, RatePolicy, RateStore},
    tick_log::TickLog,
    token_bucket::TokenBucket,
};
