//! Gradient2: a limit that follows the ratio of long-term to short-term latency.

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    averages::Average,
    guard::{Guarded, Rule},
    window::WindowReading,
};
use crate::ConfigError;

/// A limit that follows the ratio of the usual hold to the current hold.
///
/// If the hold of a window is more than one and a half times the mean hold of the last 600 windows,
/// the suggested limit shrinks in proportion, but never to less than half of the current limit.
/// Four requests are then added to the suggestion. A fifth of the difference between the suggestion
/// and the limit is applied in each window, so the limit grows by less than one per window, and a
/// single slow window has little effect.
///
/// This is the algorithm of the same name in Netflix's concurrency-limits, with the same constants.
/// The original algorithm has two known defects. Mild overload drives the limit up permanently
/// (issue 134), and a service whose holds are all as long as a timeout looks healthy (issue 137).
/// The guard that all adaptive limits of this crate share prevents both defects, but the second
/// defect is prevented reliably only with a [`latency_target`](AdaptiveRules::latency_target).
///
/// **Use this limit** if holds vary widely from request to request and the limit does not have to
/// grow fast.
#[derive(Clone, Debug)]
pub struct Gradient2(Guarded<Gradient>);

impl Gradient2 {
    /// Creates a limit that follows these rules.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is out of bounds or contradicts another rule.
    pub fn new(rules: AdaptiveRules) -> Result<Self, ConfigError> {
        Guarded::new(rules, Gradient::default()).map(Self)
    }
}

impl AdaptiveLimit for Gradient2 {
    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        self.0.observe(sample)
    }
}

/// The Gradient2 rule without the guard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gradient {
    /// The mean hold of the last 600 windows, in seconds.
    usual_hold: Average,
}

impl Default for Gradient {
    fn default() -> Self {
        Self { usual_hold: Average::over(LONG) }
    }
}

impl Rule for Gradient {
    fn next(&mut self, limit: f64, reading: &WindowReading) -> f64 {
        let usual = self.usual_hold.add(reading.hold);
        if usual > 2.0 * reading.hold {
            // The current hold is less than half of the usual hold, so an overload has ended.
            // Without this correction, the holds of the overload would count as usual for another
            // 600 windows.
            self.usual_hold.scale(DECAY);
        }
        let gradient = (TOLERANCE * usual / reading.hold).clamp(0.5, 1.0);
        let suggested = limit * gradient + QUEUE;
        limit + SMOOTHING * (suggested - limit)
    }
}

/// The number of windows over which the usual hold is averaged.
const LONG: u32 = 600;

/// The factor by which the usual hold is multiplied in each window while the usual hold is far
/// above the current hold.
const DECAY: f64 = 0.95;

/// The multiple of the usual hold up to which a window does not count as slow.
const TOLERANCE: f64 = 1.5;

/// The number of requests that are added to each suggestion. Without these requests, the limit
/// would never grow.
const QUEUE: f64 = 4.0;

/// The fraction of the difference between the suggestion and the limit that is applied in each
/// window.
const SMOOTHING: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the limit after windows with these holds, starting with a limit of 100.
    fn after(rule: &mut Gradient, holds: impl IntoIterator<Item = f64>) -> f64 {
        holds.into_iter().fold(100.0, |limit, hold| {
            let reading = WindowReading {
                in_flight: limit,
                peak: limit,
                throughput: limit / hold,
                hold,
                overloaded: false,
                after_a_pause: false,
            };
            rule.next(limit, &reading)
        })
    }

    #[test]
    fn with_usual_holds_the_limit_grows_by_four_fifths_a_window() {
        let limit = after(&mut Gradient::default(), [0.1; 10]);
        assert!((limit - 108.0).abs() < 1e-6, "{limit}");
    }

    #[test]
    fn slow_holds_lower_the_limit_by_less_than_a_tenth_at_a_time() {
        let mut rule = Gradient::default();
        after(&mut rule, [0.1; 600]);
        let limit = after(&mut rule, [1.0]);
        assert!((limit - 90.8).abs() < 1e-6, "{limit}");
    }

    #[test]
    fn one_and_a_half_times_the_usual_hold_is_not_yet_slow() {
        let mut rule = Gradient::default();
        after(&mut rule, [0.1; 600]);
        assert!(after(&mut rule, [0.149]) > 100.0);
        assert!(after(&mut rule, [0.2]) < 100.0);
    }

    #[test]
    fn an_hour_of_slow_holds_is_no_longer_usual_after_a_minute_of_fast_ones() {
        let mut rule = Gradient::default();
        after(&mut rule, [1.0; 3_600]);
        after(&mut rule, [0.1; 60]);
        assert!(after(&mut rule, [0.5]) < 100.0);
    }
}
