//! All that the layer promises about limits, with the limits in a store.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

#[path = "../it/address.rs"]
mod address;
#[path = "../it/defects.rs"]
mod defects;
mod failures;
mod limits;
#[cfg(feature = "metrics")]
#[path = "../it/metrics.rs"]
mod metrics;
#[path = "../it/queue.rs"]
mod queue;
#[path = "../it/rates.rs"]
mod rates;
#[path = "../it/soft.rs"]
mod soft;
#[expect(dead_code, reason = "these tests need less of it")]
#[path = "../it/support.rs"]
mod support;

use tower_waiting_room::{ManualClock, RateStoreFailure, WaitingRoomConfigBuilder};

use crate::limits::CoreLimits;

/// How the houses of these tests keep their limits.
fn with_limits(config: WaitingRoomConfigBuilder, clock: &ManualClock) -> WaitingRoomConfigBuilder {
    config.rate_store(CoreLimits::new(clock), RateStoreFailure::Refuse)
}
