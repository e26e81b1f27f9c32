//! A limit on concurrency that is found by measuring: additive increase, multiplicative decrease.
//!
//! It need not know how many cores there are, nor what part of its time a request computes. What
//! it finds is rarely a whole number, and a limit is always one. So it switches: 1.4 is a limit of
//! 2 in two of five slices of time, and of 1 in the others.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tower_waiting_room::{ConfigError, WaitingRoomHandle};

use crate::{app::GATE, cpu::Meter};

/// Keeps the CPU of this process at so many percent, until it is dropped.
///
/// # Errors
///
/// The gate is not there.
pub(crate) async fn control(
    handle: WaitingRoomHandle,
    percent: u32,
    cores: u32,
) -> Result<(), ConfigError> {
    let mut limit = FractionalLimit::new(2 * cores);
    let mut meter = Meter::start(cores);
    let mut slices = interval(SLICE);
    slices.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for slice in 0_u64.. {
        slices.tick().await;
        if slice % SLICES == SLICES - 1 {
            limit.adapt(meter.read().server < f64::from(percent));
        }
        handle.gate(GATE).expect("the gate is configured").set_limit(limit.of_next_slice())?;
    }
    Ok(())
}

/// A limit in thousandths.
#[derive(Clone, Copy, Debug)]
struct FractionalLimit {
    limit: u32,
    highest: u32,
    /// What the slices so far were given too little, less than one.
    owed: u32,
}

impl FractionalLimit {
    /// Begins with one, and is never less: with none at all, nobody would be served, and nothing
    /// learned.
    const fn new(highest: u32) -> Self {
        Self { limit: WHOLE, highest: highest * WHOLE, owed: 0 }
    }

    /// Rises by a little while there is something to spare, and falls by a part of itself if not.
    fn adapt(&mut self, is_to_spare: bool) {
        let adapted = if is_to_spare { self.limit + STEP } else { self.limit * 95 / 100 };
        self.limit = adapted.clamp(WHOLE, self.highest);
    }

    /// A whole number; over many slices, their mean is the limit.
    const fn of_next_slice(&mut self) -> u32 {
        let due = self.limit + self.owed;
        self.owed = due % WHOLE;
        due / WHOLE
    }
}

const WHOLE: u32 = 1_000;
const STEP: u32 = 50;

/// About as long as a conversion: what is shorter has no effect, since nobody is cut off.
const SLICE: Duration = Duration::from_millis(100);

/// After so many slices the limit is adapted.
const SLICES: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_limits_have_the_fractional_one_as_their_mean() {
        for limit in [1_000, 1_400, 1_999, 3_250] {
            let mut fractional = FractionalLimit { limit, highest: 4_000, owed: 0 };
            let slices: Vec<u32> = (0..1_000).map(|_| fractional.of_next_slice()).collect();
            assert_eq!(slices.iter().sum::<u32>(), limit);
            assert!(slices.iter().all(|whole| whole.abs_diff(limit / WHOLE) <= 1));
        }
    }

    #[test]
    fn a_limit_finds_the_share_and_stays_about_it() {
        let mut limit = FractionalLimit::new(4);
        for round in 0..200 {
            // Each permit is half of the CPU, and 70 % is asked for.
            limit.adapt(limit.limit / 20 < 70);
            assert!(round < 10 || (1_300..=1_450).contains(&limit.limit), "{limit:?}");
        }
    }

    #[test]
    fn a_limit_stays_within_its_bounds() {
        let mut limit = FractionalLimit::new(4);
        limit.adapt(false);
        assert_eq!(limit.limit, WHOLE);
        (0..1_000).for_each(|_| limit.adapt(true));
        assert_eq!(limit.limit, 4 * WHOLE);
    }
}
