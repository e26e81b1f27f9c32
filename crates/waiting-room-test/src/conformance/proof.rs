//! The whole suite with the usual settings.

use waiting_room_core::{RoomRules, Store, time::ManualClock};

use super::{
    at_once::run_at_once,
    plan::{Coverage, Plan},
    suite::run,
};
use crate::crowd::{Crowd, seed};

/// Runs the conformance suite on the stores that `build` makes, and prints the seeds to standard
/// error.
///
/// `build` receives the rules of the room and its clock, and returns a store with an empty room. It
/// is called several times. The stores must not share a room, so a store on a server needs a new
/// name or prefix each time. The store must read its time from the given clock.
///
/// The returned numbers show which replies occurred.
///
/// # Panics
///
/// Panics at the first reply that differs from the model's, with the command, both replies and the
/// seed. To repeat a run, set [`Crowd::SEED_VARIABLE`]. Panics also if the variable is not a number.
pub async fn store_conformance<S: Store>(
    mut build: impl AsyncFnMut(RoomRules, ManualClock) -> S,
) -> Coverage {
    let first = seed();
    eprintln!("seeds of the suite: {first} and the {} after it", SEEDS - 1);
    let mut coverage = Coverage::default();
    for seed in (0..SEEDS).map(|index| first.wrapping_add(index)) {
        let ran = match run(Plan::new(seed, COMMANDS), &mut build).await {
            Ok(replies) => {
                coverage.add(&replies);
                run_at_once(seed, &mut build).await
            }
            Err(divergence) => Err(divergence),
        };
        if let Err(divergence) = ran {
            let variable = Crowd::SEED_VARIABLE;
            panic!("the store breaks its contract: {divergence}\nto repeat: {variable}={seed}");
        }
    }
    coverage
}

/// The number of streams.
const SEEDS: u64 = 4;

/// The number of commands of each stream: enough for all but the rarest replies.
const COMMANDS: u64 = 4_000;
