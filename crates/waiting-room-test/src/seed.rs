//! Seeds: from the environment or from the clock, and always printed.

use std::env;

use waiting_room_core::time::{Clock, SystemClock};

/// The environment variable that fixes the seed of crowds and of the conformance suite, so that a
/// failure can be repeated: `WAITING_ROOM_SEED=17 cargo test`.
pub const SEED_VARIABLE: &str = "WAITING_ROOM_SEED";

/// Returns the seed of the environment, or one that no earlier run has used.
///
/// # Panics
///
/// Panics if the variable is set to something that is not a number: a run with another seed than
/// the requested one would hide a failure.
pub(crate) fn seed() -> u64 {
    match env::var(SEED_VARIABLE) {
        Ok(fixed) => fixed
            .parse()
            .unwrap_or_else(|_| panic!("{SEED_VARIABLE} is {fixed:?}, expected a number")),
        Err(_) => SystemClock::new().now().as_nanos(),
    }
}
