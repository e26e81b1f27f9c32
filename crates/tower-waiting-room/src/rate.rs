//! Rate limits: named quotas for requests with the same key.
//!
//! A [`RateLimit`] bounds how many requests a client may send within a window, such as 120 requests
//! per minute for each address, or 10 000 per day for each API key. Limits are defined in code or
//! in a rules file, and can be changed while the layer is running.
//!
//! ```text
//! current limits ──┐                ┌─ pass:   the request continues
//!                  ├─► charge all ──┼─ delay:  it continues at its turn in a leaky queue
//! request, key ────┘   or none      └─ refuse: 429, with Retry-After
//! ```
//!
//! Several limits may apply to one request. Either all limits of a request are charged, or none
//! are: a request that one limit refuses does not count toward any other limit. Soft limits and
//! limits in shadow mode only observe: they are charged after the hard limits have allowed the
//! request, and never refuse it.
//!
//! Limits are counted in this process, or for several nodes together in a [`RateStore`]. With a
//! store, each request waits for one round trip. If the store fails, [`RateStoreFailure`]
//! determines what happens to the request.
//!
//! A rate limit does not bound how many requests run at once: that is the task of a
//! [gate](crate::gate). Nor does a rate limit determine the order in which visitors are admitted:
//! that is the task of the room.
//!
//! [`RateStore`]: waiting_room_core::rate::RateStore

// The parts of this module:
//
//   RateLimit … ─► LimitSet ─┐                              ┌─ Pass
//   (code, file)             ├─► RateStage::charge ─► Rated ┼─ Delay
//   request ─► Caller ───────┘        │                     └─ Refuse
//                                     └─► Pending: a PendingCharge queries the shared store;
//                                         RateStage::replied continues with the reply
//
// A `RateLimit` is a limit as the user defined it. A `Policy` is the same limit ready for use, with
// its memory of keys and the constant parts of its headers. A `LimitSet` contains the current
// policies. A live change replaces the policies, but a limit keeps its memory if its name, key,
// algorithm and number of keys remain the same. A `RateReport` contains the decisions of all limits
// for one request. The stage renders no responses, writes no headers, and does not depend on the
// room or the gates.

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
mod stored;
mod stored_keys;
mod turn;

#[doc(no_inline)]
pub use waiting_room_core::rate::{Algorithm, Alignment, KeyCensus, Refusals};

#[cfg(test)]
pub(crate) use self::limit::Cost;
pub(crate) use self::{
    condition::{Condition, Literal},
    config::{RateConfig, RulesSource},
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
pub use crate::rate_headers::{QuotaUnit, RateHeaders};
#[cfg(feature = "files")]
pub use crate::rules_file::RulesFileError;
