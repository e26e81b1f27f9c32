//! Where seeds come from: the caller, the environment, or the clock; printed in any case.

use waiting_room_core::time::{Clock, SystemClock};

/// The variable that fixes the seed of a test run: `WAITING_ROOM_SEED=17 cargo test`.
pub const SEED_VARIABLE: &str = "WAITING_ROOM_SEED";

/// `count` seeds to run, printed to standard error.
///
/// Fresh ones by default. If [`SEED_VARIABLE`] is set, that one alone, so that a failure can be
/// repeated.
///
/// # Panics
///
/// If the variable is set to something that is not a number: running other seeds than the one that
/// was asked for would hide what is being looked for.
#[must_use]
pub fn seeds(count: u32) -> Vec<u64> {
    let seeds = match std::env::var(SEED_VARIABLE) {
        Ok(fixed) => vec![fixed.parse().expect("WAITING_ROOM_SEED is a number")],
        Err(_) => fresh_seeds(count),
    };
    eprintln!("seeds: {seeds:?}");
    seeds
}

/// `count` seeds that no run has had before.
#[must_use]
pub fn fresh_seeds(count: u32) -> Vec<u64> {
    let base = SystemClock::new().now().as_nanos();
    (0..u64::from(count)).map(|index| base.wrapping_add(index)).collect()
}
