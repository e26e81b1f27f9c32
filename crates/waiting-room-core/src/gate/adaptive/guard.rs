//! What keeps a limit that only knows "slower" from climbing for ever.
//!
//! A [`Rule`] compares holds with earlier holds. Under steady overload slow becomes the standard
//! that slow is measured by, and the limit ratchets upwards. So a rule only suggests, and what it
//! suggests is held against what does not drift:
//!
//! ```text
//! first that holds                                the limit then
//! ──────────────────────────────────────────────  ─────────────────────────────────────────────
//! the typical hold is above the target            less by a tenth, or what the rule suggests, if
//! more than one in a hundred found overload       that is still less
//! the limit is above five times the most that ran less by a tenth, down to that
//! not even half of the limit was used             stays: the load says nothing about it
//! more at once has not been faster, and the rule  less by a tenth
//! suggests more
//! otherwise                                       what the rule suggests
//! ```

use super::{
    AdaptiveRules, Sample,
    averages::Average,
    history::History,
    window::{Reading, Window},
};
use crate::ConfigError;

/// The part in which the algorithms differ: the limit that one window suggests.
pub(super) trait Rule {
    /// The limit to go on with after a window in which `limit` might run. It need not keep any
    /// bounds.
    fn next(&mut self, limit: f64, reading: &Reading) -> f64;
}

/// A rule, held to the rules of all adaptive limits.
#[derive(Clone, Debug)]
pub(super) struct Guarded<R> {
    rules: AdaptiveRules,
    rule: R,
    /// With its fraction, so that small steps add up.
    limit: f64,
    window: Window,
    typical_hold: Average,
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

    pub(super) fn observe(&mut self, sample: &Sample) -> u32 {
        if let Some(reading) = self.window.add(sample) {
            let next = self.next(&reading);
            self.limit = self.rules.within(next);
        }
        self.limit()
    }

    #[expect(clippy::cast_possible_truncation, reason = "it lies between two limits that are u32")]
    pub(super) fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// The limit after a window, before the bounds; the table above.
    fn next(&mut self, reading: &Reading) -> f64 {
        if reading.after_a_pause {
            self.typical_hold = Average::over(SMOOTHING);
            self.history = History::new();
        }
        let limit = self.limit;
        let is_full = reading.in_flight >= FULL * limit;
        if is_full {
            self.history.add(reading);
        }
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

    /// Whether the typical hold, this window's included, is above the target.
    fn is_too_slow(&mut self, hold: f64) -> bool {
        let typical = self.typical_hold.add(hold);
        self.rules.latency_target.is_some_and(|target| typical > target.as_secs_f64())
    }
}

/// What is left of a limit that turned out too high.
const BACK_OFF: f64 = 0.9;

/// A limit is at most so many times what really ran: a higher one was never tried.
const HEADROOM: f64 = 5.0;

/// The gate counts as full in a window where, on average, this share of the limit was used.
const FULL: f64 = 0.75;

/// Over how many windows the hold is smoothed before it is compared with the target.
const SMOOTHING: u32 = 5;
