//! The layer as a Tower service. Time stands still unless a test advances it.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod address;
mod answers;
mod auto_tune;
mod bad_input;
mod bypass;
mod challenge;
mod check_ins;
mod contract;
mod defects;
mod events;
mod extract;
#[cfg(feature = "metrics")]
mod figures;
mod gate;
mod handle;
mod identity;
mod leave;
mod limits_report;
#[cfg(feature = "metrics")]
mod metrics;
mod misconfigured;
mod moves;
mod networks;
mod outage;
mod people;
mod purpose;
mod push;
mod queue;
mod rates;
mod renewal;
mod restart;
mod revoke;
mod routes;
mod rules_file;
mod runtime;
mod soft;
mod span;
mod support;
mod transfer;
mod visit;
mod visitor_key;

use tower_waiting_room::{config::WaitingRoomConfigBuilder, time::ManualClock};

/// Sets where the limits of these tests are counted: in the memory of the process.
fn with_limits(config: WaitingRoomConfigBuilder, _: &ManualClock) -> WaitingRoomConfigBuilder {
    config
}
