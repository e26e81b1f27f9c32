//! Seeds: from the environment or from the clock, and always printed.

use waiting_room_core::time::{Clock, SystemClock};

/// The variable that fixes the seed of a test run: `WAITING_ROOM_SEED=17 cargo test`.
pub const SEED_VARIABLE: &str = "WAITING_ROOM_SEED";

/// Returns `count` seeds to run, and prints them to standard error.
///
/// The seeds are fresh, unless [`SEED_VARIABLE`] is set: then its value is the only seed, so that a
/// failure can be reproduced.
///
/// # Panics
///
/// If the variable is set to something that is not a number: a run with other seeds than the
/// requested one would hide the failure.
#[must_use]
pub fn seeds(count: u32) -> Vec<u64> {
    let seeds = match std::env::var(SEED_VARIABLE) {
        Ok(fixed) => vec![fixed.parse().expect("WAITING_ROOM_SEED is a number")],
        Err(_) => fresh_seeds(count),
    };
    eprintln!("seeds: {seeds:?}");
    seeds
}

/// Returns `count` seeds that no earlier run has used, derived from the clock.
#[must_use]
pub fn fresh_seeds(count: u32) -> Vec<u64> {
    let base = SystemClock::new().now().as_nanos();
    (0..u64::from(count)).map(|index| base.wrapping_add(index)).collect()
}
