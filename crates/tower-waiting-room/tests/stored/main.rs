//! The layer's promises about rate limits, with the limits counted in a store.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

#[path = "../it/address.rs"]
mod address;
mod failures;
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
#[path = "../it/visitor_key.rs"]
mod visitor_key;

use tower_waiting_room::{
    config::WaitingRoomConfigBuilder, rate::RateStoreFailure, time::ManualClock,
};
use waiting_room_doubles::RateStoreDouble;

/// Sets where the limits of these tests are counted: in a store.
fn with_limits(config: WaitingRoomConfigBuilder, clock: &ManualClock) -> WaitingRoomConfigBuilder {
    config.rate_store(RateStoreDouble::new(clock), RateStoreFailure::Refuse)
}
