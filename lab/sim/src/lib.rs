//! Seeded crowds in front of a waiting room, and the oracle that judges what they saw.
//!
//! The [`Oracle`] judges any waiting room from outside, even across a real network: it sees what
//! the visitors saw, and compares it with the promises of the room. The visitors arrive as a
//! [`Trace`] says and behave as their [`plan`] says. `waiting-room-crowd` sends them to a real
//! layer; the studies of the lab send them to a simulated room.
//!
//! All randomness comes from a seed, and every seed is printed, so each finding can be reproduced.
//!
//! # What it does not do
//!
//! It opens no socket, and reads a clock only for fresh seeds.
//!

mod arrivals;
mod day;
mod oracle;
pub mod plan;

use waiting_room_core::time::{Clock, SystemClock};

pub use self::day::{Day, DayError};
pub use self::{
    arrivals::{Arrivals, Trace},
    oracle::{
        Alarm, AlarmKind, EventPromise, EventReport, Limits, Oracle, Report, Seen, ShownPosition,
        VisitorNo,
    },
};

/// The variable that fixes the seed of a test run: `WAITING_ROOM_SEED=17 cargo test`.
pub const SEED_VARIABLE: &str = "WAITING_ROOM_SEED";

/// Returns `count` seeds to run, and prints them to standard error.
///
/// The seeds are fresh, unless [`SEED_VARIABLE`] is set: then its value is the only seed, so that a
/// failure can be reproduced.
///
/// # Panics
///
/// Panics if the variable is set to something that is not a number, because a run with other seeds
/// than the requested one would hide the failure.
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
