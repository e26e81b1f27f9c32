//! The guard that keeps an adaptive limit from growing without bound.
//!
//! A typical [`Rule`] compares holds with earlier holds. Under steady overload, slow holds become
//! the norm, and the limit ratchets upwards. A rule therefore only suggests a limit, and the guard
//! checks the suggestion against criteria that do not drift:
//!
//! ```text
//! the first condition that is true                the next limit
//! ──────────────────────────────────────────────  ─────────────────────────────────────────────
//! the typical hold is above the target            a tenth lower, or the limit suggested by the
//! more than 1% of the samples report overload     rule if the suggestion is even lower
//! the limit is above five times the peak          a tenth lower, but at least five times the peak
//! the peak is below half of the limit             unchanged: the load is no evidence
//! the rule suggests more, the gate was full, and  a tenth lower
//! more requests in flight have not been faster
//! no condition is true                            the suggestion, up to five times the peak
//! ```
//!
//! The peak is the maximum number of requests that ran at once in the window.

use super::{
    AdaptiveRules, Sample,
    averages::Average,
    history::History,
    window::{Window, WindowReading},
};
use crate::ConfigError;

/// The part of an adaptive limit that differs between the algorithms. A rule suggests a limit after
/// each window.
pub(super) trait Rule {
    /// Suggests the next limit after a window in which the limit was `limit`. The suggestion need
    /// not respect any bounds.
    fn next(&mut self, limit: f64, reading: &WindowReading) -> f64;
}

/// A rule together with its guard.
#[derive(Clone, Debug)]
pub(super) struct Guarded<R> {
    rules: AdaptiveRules,
    rule: R,
    /// The limit including its fractional part, so that steps of less than one add up.
    limit: f64,
    window: Window,
    /// The median hold, smoothed over the last few windows, for comparison with the latency target.
    typical_hold: Average,
    /// The most recent windows in which the gate was full.
    history: History,
}

impl<R: Rule> Guarded<R> {
    pub(super) fn new(rules: AdaptiveRules, rule: R) -> Result<Self, ConfigError> {
        rules.validate()?;
        Ok(Self {
            rules,
            rule,
            limit: rules.first(),
            window: Window::new(rules.window),
            typical_hold: Average::over(SMOOTHING),
            history: History::new(),
        })
    }

    /// Adds a sample, and returns the limit to use from now on. The limit changes only when a
    /// sample completes a window.
    pub(super) fn observe(&mut self, sample: &Sample) -> u32 {
        if let Some(reading) = self.window.add(sample) {
            let next = self.next(&reading);
            self.limit = self.rules.within(next);
        }
        self.limit()
    }

    /// Returns the limit, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "both bounds of the limit are u32")]
    pub(super) fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// Returns the limit after a window, before the bounds are applied. The table in the module
    /// docs lists the conditions.
    fn next(&mut self, reading: &WindowReading) -> f64 {
        // After a pause, earlier windows may describe a different load or a different service.
        if reading.after_a_pause {
            self.typical_hold = Average::over(SMOOTHING);
            self.history = History::new();
        }
        let limit = self.limit;
        let is_full = reading.in_flight >= FULL * limit;
        // Only a full gate shows the capacity of the service. In other windows, the throughput
        // merely equals the demand.
        if is_full {
            self.history.add(reading);
        }
        // The average and the rule are updated after every window, even if they do not determine
        // the next limit, because both depend on all windows.
        let is_too_slow = self.is_too_slow(reading.hold);
        let suggested = self.rule.next(limit, reading);
        let most = HEADROOM * reading.peak;

        if is_too_slow || reading.overloaded {
            suggested.min(BACK_OFF * limit)
        } else if limit > most {
            most.max(BACK_OFF * limit)
        } else if 2.0 * reading.peak < limit {
            limit
        } else if suggested > limit && is_full && self.history.says_more_is_not_faster() {
            self.history.forget();
            BACK_OFF * limit
        } else {
            suggested.min(most)
        }
    }

    /// Returns whether the typical hold, including this window's hold, is above the target.
    fn is_too_slow(&mut self, hold: f64) -> bool {
        let typical = self.typical_hold.add(hold);
        self.rules.latency_target.is_some_and(|target| typical > target.as_secs_f64())
    }
}

/// The factor by which a limit is multiplied if it turns out to be too high.
const BACK_OFF: f64 = 0.9;

/// The highest allowed limit, as a multiple of the peak. The load has not come anywhere near a
/// higher limit, so the effect of such a limit is unknown.
const HEADROOM: f64 = 5.0;

/// The mean fraction of the limit that must be in use during a window for the gate to count as
/// full.
const FULL: f64 = 0.75;

/// The number of windows over which the hold is smoothed before it is compared with the target.
const SMOOTHING: u32 = 5;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A rule that suggests the same limit after every window.
    struct Suggestion(f64);

    impl Rule for Suggestion {
        fn next(&mut self, _: f64, _: &WindowReading) -> f64 {
            self.0
        }
    }

    #[test]
    fn each_condition_has_its_effect_from_its_border_on() {
        for (peak, hold, overloaded, suggested, expected) in [
            (20.0, 0.1, true, 25.0, 18.0),
            (20.0, 0.1, true, 10.0, 10.0),
            (20.0, 0.101, false, 25.0, 18.0),
            (20.0, 0.1, false, 25.0, 25.0),
            (3.0, 0.1, false, 25.0, 18.0),
            (3.9, 0.1, false, 25.0, 19.5),
            (4.0, 0.1, false, 25.0, 20.0),
            (9.9, 0.1, false, 25.0, 20.0),
            (10.0, 0.1, false, 25.0, 25.0),
            (10.0, 0.1, false, 60.0, 50.0),
        ] {
            let target = Duration::from_millis(100);
            let rules = AdaptiveRules::new().initial(20).latency_target(target);
            let mut guarded = Guarded::new(rules, Suggestion(suggested)).unwrap();
            let reading = WindowReading {
                in_flight: peak,
                peak,
                throughput: 100.0,
                hold,
                overloaded,
                after_a_pause: false,
            };
            let next = guarded.next(&reading);
            assert!((next - expected).abs() < 1e-9, "{next} is not {expected} after {reading:?}");
        }
    }

    #[test]
    fn only_growth_is_refused_if_more_requests_are_not_faster() {
        for (suggested, expected) in [(21.0, 18.0), (20.0, 20.0), (19.0, 19.0)] {
            let rules = AdaptiveRules::new().initial(20);
            let mut guarded = Guarded::new(rules, Suggestion(suggested)).unwrap();
            let suggestions = (0..8).map(|more| {
                guarded.next(&WindowReading {
                    in_flight: 16.0 + 0.5 * f64::from(more),
                    peak: 20.0,
                    throughput: 100.0 - f64::from(more),
                    hold: 0.05,
                    overloaded: false,
                    after_a_pause: false,
                })
            });
            let next = suggestions.last().unwrap();
            assert!((next - expected).abs() < 1e-9, "{next} is not {expected}");
        }
    }
}
