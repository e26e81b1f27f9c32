//! Rate limits: named quotas for the requests of each key.
//!
//! A [`RateLimit`] bounds how much a client may use in a time, such as 120 requests a minute for
//! each address, or 10 000 a day for each API key. Limits come from code or from a rules file, and
//! can be changed while the layer serves.
//!
//! ```text
//! limits in force ─┐                ┌─ pass:   the request goes on
//!                  ├─► charge all ──┼─ delay:  it goes on at its turn in a leaky queue
//! request, key ────┘   or none      └─ refuse: 429, with Retry-After
//! ```
//!
//! Several limits may apply to one request. Either all of them are charged or none: a request that
//! one limit refuses uses up no other. Soft limits and limits in shadow mode only observe. They are
//! charged after the others allowed the request, and refuse nothing.
//!
//! Limits are counted in this process, or in a [`RateStore`] for several nodes together. With a
//! store, a request waits for one round trip. If the store fails, [`RateStoreFailure`] decides.
//!
//! A limit does not bound how many requests run at once; that is the task of a
//! [gate](crate::gate). It does not decide in which order visitors are admitted either; that is
//! the task of the room.

// The parts of this module:
//
//   RateLimit … ─► LimitSet ─┐                              ┌─ Pass
//   (code, file)             ├─► RateStage::charge ─► Rated ┼─ Delay
//   request ─► Caller ───────┘        │                     └─ Refuse
//                                     └─► Pending: a PendingCharge queries the shared store;
//                                         RateStage::replied continues with the reply
//
// A `RateLimit` is a limit as the user wrote it. A `Policy` is the same limit ready for use: with
// its memory of keys and with the constant parts of its headers. A `LimitSet` holds the policies in
// force; a live change replaces them, and limits that stay keep their memory. A `RateReport` holds
// the decisions of all limits about one request. The stage renders no response and writes no
// header, and it knows neither the room nor the gates.

#[cfg(feature = "rules-file")]
mod condition;
mod config;
mod diagnosis;
mod handle;
mod limit;
mod limit_set;
pub(crate) mod names;
mod policy;
mod remote;
mod report;
mod stage;
mod store;
mod stored;
mod stored_keys;
mod turn;

pub use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, ChargeReply, ChargeRequest, RatePolicy, RateStore, Refusals},
};

#[cfg(feature = "rules-file")]
pub(crate) use self::condition::{Condition, Literal};
#[cfg(all(test, feature = "page", feature = "room", feature = "rules-file"))]
pub(crate) use self::limit::Cost;
pub(crate) use self::{
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
pub use crate::rate_headers::{QuotaUnit, RateHeaders};
#[cfg(not(feature = "rules-file"))]
pub(crate) use crate::rules_file::Condition;
#[cfg(feature = "rules-file")]
pub use crate::rules_file::RulesFileError;
