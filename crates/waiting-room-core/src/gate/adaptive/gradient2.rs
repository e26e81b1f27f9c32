//! The gradient of short-term to long-term latency.

use super::{
    Limit, LimitRules, Sample,
    average::Average,
    guard::{Guarded, Rule},
    window::Reading,
};
use crate::ConfigError;

/// Follows the ratio of the usual hold to the present one.
///
/// Where a window is slower than one and a half times the mean of the last 600, the limit shrinks
/// in proportion, at most to a half; and each time it gets room for four more, of which a fifth is
/// taken at a time. So it grows by less than one a window, and a single slow window does little.
///
/// The algorithm of that name in Netflix' concurrency-limits, with its constants. Two defects are
/// known of it: mild overload drives the limit up for good (their number 134), and holds that are
/// steadily as long as a timeout look like calm (137). Here the guard that all adaptive limits
/// have in common stops both; the second for certain only with a
/// [`latency_target`](LimitRules::latency_target).
///
/// **Use it** where holds vary much from request to request, and growth need not be fast.
#[derive(Clone, Debug)]
pub struct Gradient2(Guarded<Gradient>);

impl Gradient2 {
    /// Within these rules.
    ///
    /// # Errors
    ///
    /// The first rule that makes no sense.
    pub fn new(rules: LimitRules) -> Result<Self, ConfigError> {
        Guarded::new(rules, Gradient::default()).map(Self)
    }
}

impl Limit for Gradient2 {
    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        self.0.observe(sample)
    }
}

/// The ratio of two averages of the hold, and the limit that follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gradient {
    usual_hold: Average,
}

impl Default for Gradient {
    fn default() -> Self {
        Self { usual_hold: Average::over(LONG) }
    }
}

impl Rule for Gradient {
    fn next(&mut self, limit: f64, reading: &Reading) -> f64 {
        let usual = self.usual_hold.add(reading.hold);
        if usual > 2.0 * reading.hold {
            // Overload is over; without this it would count as usual for another 600 windows.
            self.usual_hold.scale(DECAY);
        }
        let gradient = (TOLERANCE * usual / reading.hold).clamp(0.5, 1.0);
        let suggested = limit * gradient + QUEUE;
        limit + SMOOTHING * (suggested - limit)
    }
}

/// How many windows make the usual hold.
const LONG: u32 = 600;

/// What is left of a usual hold that is far above the present one, each window.
const DECAY: f64 = 0.95;

/// How many times the usual hold is not yet slow.
const TOLERANCE: f64 = 1.5;

/// How many more than the gradient says may run: what makes a limit grow.
const QUEUE: f64 = 4.0;

/// The share of a suggestion that is taken at once.
const SMOOTHING: f64 = 0.2;
