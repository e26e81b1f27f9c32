//! The layer as a Tower service, with time standing still unless a test moves it.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod address;
mod answers;
mod bad_input;
mod bypass;
mod challenge;
mod check_ins;
mod contract;
mod defects;
mod gate;
mod handle;
#[cfg(feature = "metrics")]
mod metrics;
mod misconfigured;
mod networks;
mod outage;
mod queue;
mod rates;
mod renewal;
mod restart;
mod revoke;
mod rules_file;
mod runtime;
mod soft;
mod span;
mod support;
mod visit;

use tower_waiting_room::{ManualClock, WaitingRoomConfigBuilder};

/// How the houses of these tests keep their limits: each in its process.
fn with_limits(config: WaitingRoomConfigBuilder, _: &ManualClock) -> WaitingRoomConfigBuilder {
    config
}
