//! Rate limits, which bound how much each key may use within a time window.
//!
//! A [`Quota`] is a number of units per window. An [`Algorithm`] defines how the quota applies at
//! window boundaries and to bursts. Each algorithm is implemented as a meter, which is plain
//! integer arithmetic on the state of one key, with the time and the cost as arguments. A
//! [`Limiter`] stores the states of many keys in bounded memory, and `charge_all` charges several
//! limiters at once, either all of them or none.
//!
//! ```text
//! Quota + Algorithm ─► Meter ─┐
//!                             ├─► Limiter ─┐
//! KeyHash ─► table of states ─┘            ├─► charge_all ─► Decision for each, Charges
//!                              Limiter … ──┘
//! ```
//!
//! If several nodes share a limit, a [`RateStore`] takes the place of the limiters and
//! `charge_all`.
//!
//! | algorithm | allows at once | at most in any window | state per key | suited to |
//! |---|---|---|---|---|
//! | token bucket, GCRA | the capacity | twice the limit, less one | 8 bytes | most limits |
//! | leaky queue | the capacity, spread out | same as GCRA | 8 bytes | steady flow to the service |
//! | fixed window | the limit | twice the limit | 16 bytes | daily or monthly quotas |
//! | sliding log | the limit | the limit | 8 bytes per timestamp | limits that must be exact |
//! | sliding counter | the limit | twice the limit | 24 bytes | large limits, nearly exact |

/// Charges several limiters at once, either all of them or none.
///
/// Not part of the public API: the layer uses it to charge the limits of a request.
#[doc(hidden)]
pub mod charging {
    pub use super::{
        gcra::LazyDecision,
        limiter::{LimiterCharge, charge_all},
    };
}

/// The arithmetic of each algorithm on the state of one key.
///
/// Not part of the public API: the simulations of this repository keep the states themselves.
#[doc(hidden)]
pub mod meters {
    pub use super::{
        fixed_window::{FixedWindow, FixedWindowState},
        gcra::Gcra,
        leaky_queue::LeakyQueue,
        meter::Meter,
        sliding_counter::{SlidingCounter, SlidingCounterState},
        sliding_log::SlidingLog,
        tick_log::TickLog,
        token_bucket::TokenBucket,
    };
}

mod census;
mod event_log;
mod fixed_window;
mod gcra;
mod key;
mod leaky_queue;
mod limiter;
mod memory;
mod meter;
mod quota;
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
    census::KeyCensus,
    key::{KeyHash, KeyHasher},
    limiter::Limiter,
    meter::{Charge, Decision},
    quota::{Algorithm, Alignment, Quota, Refusals},
    store::{ChargeReply, ChargeRequest, RatePolicy, RateStore},
};
use self::{
    fixed_window::FixedWindow,
    gcra::{Gcra, LazyDecision},
    leaky_queue::LeakyQueue,
    meter::Meter,
    sliding_counter::SlidingCounter,
    sliding_log::SlidingLog,
    tick_log::TickLog,
    token_bucket::TokenBucket,
};
