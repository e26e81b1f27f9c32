//! Sites on real servers, with a ledger between them: visitors who move from one to another, and what sites
//! that count do beside sites that hold slots.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod counters;
mod roaming;

use std::time::Duration;

use waiting_room_ledger::{EscrowRules, SharedKeys};

/// Rules under which no pass lapses in a test.
const LASTING: EscrowRules = EscrowRules::new()
    .session(Duration::from_secs(600))
    .heartbeat(Duration::from_millis(200))
    .borrow_wait(Duration::from_millis(500));

fn keys() -> SharedKeys {
    SharedKeys::parse(&"0123456789abcdef".repeat(4)).unwrap()
}
