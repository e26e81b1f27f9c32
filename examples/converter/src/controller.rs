//! Finds a limit on concurrency by measuring: additive increase, multiplicative decrease.
//!
//! The controller does not need to know the number of cores, nor the part of its time that a
//! request computes. The limit that it finds is rarely a whole number, but a gate needs one, so the
//! controller alternates: a limit of 1.4 is set as 2 in two of five slices of time, and as 1 in the
//! others.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tower_waiting_room::{ConfigError, WaitingRoomHandle};

use crate::{app::GATE, cpu::Meter};

/// Keeps the CPU usage of this process at `percent` until the future is dropped.
///
/// # Errors
///
/// The gate does not accept a limit.
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
    /// The part of the limit that past slices have not received yet, in thousandths; less than one.
    owed: u32,
}

impl FractionalLimit {
    /// Starts at one, and never falls below it: without a running request there would be nothing to
    /// measure.
    const fn new(highest: u32) -> Self {
        Self { limit: WHOLE, highest: highest * WHOLE, owed: 0 }
    }

    /// Raises the limit by a fixed step while CPU time is left, and lowers it by a fraction
    /// otherwise.
    fn adapt(&mut self, is_to_spare: bool) {
        let adapted = if is_to_spare { self.limit + STEP } else { self.limit * 95 / 100 };
        self.limit = adapted.clamp(WHOLE, self.highest);
    }

    /// A whole number for the next slice. Over many slices, the mean of these numbers is the limit.
    const fn of_next_slice(&mut self) -> u32 {
        let due = self.limit + self.owed;
        self.owed = due % WHOLE;
        due / WHOLE
    }
}

const WHOLE: u32 = 1_000;
const STEP: u32 = 50;

/// The time for which a whole limit is in force. A shorter slice would have no effect, since
/// running conversions are not interrupted.
const SLICE: Duration = Duration::from_millis(100);

/// The number of slices after which the limit is adapted.
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
    fn a_limit_finds_the_share_and_stays_near_it() {
        let mut limit = FractionalLimit::new(4);
        for round in 0..200 {
            // Each permit uses half of the CPU, and the target is 70 %.
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
