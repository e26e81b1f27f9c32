//! Vegas: a limit that estimates how many of the running requests are only waiting.

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    guard::{Guarded, Rule},
    window::WindowReading,
};
use crate::ConfigError;

/// A limit that keeps a small queue inside the service. The length of that queue is estimated from
/// how much longer requests take than in the best case.
///
/// If the shortest typical hold is `base` and the current one is `hold`, then `limit × (1 - base /
/// hold)` of `limit` requests are queueing somewhere (Little's law). If few requests are queueing,
/// the limit grows; if many are, it shrinks; in between, it stays the same. The hold of a window
/// becomes the new base if it is shorter than the old one. Once in 60 windows, the base is replaced
/// in any case, so that a service that has become permanently slower is not compared with its past.
///
/// ```text
/// queue     0 ─────── few ─────── a tenth ─────── a fifth of the limit ─────►
/// limit       grows fast    grows         stays                    shrinks
/// ```
///
/// Based on L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global
/// Internet", IEEE JSAC 13(8), 1995, with the step sizes of Netflix's concurrency-limits. There are
/// three differences from that library. This limit changes once per window, not once per request.
/// It stays the same while the queue is between a tenth and a fifth of the limit, as the library's
/// documentation states. In the library's code, the range is between 3 and 6 × log₁₀ of the limit,
/// which is less than the noise for large limits. Finally, this limit probes at fixed intervals
/// rather than at random, since the windows of two processes are not synchronized anyway.
///
/// **Use it** if holds are similar, for example because all requests are of one kind. It reacts
/// quickly and settles close to the capacity.
#[derive(Clone, Debug)]
pub struct Vegas(Guarded<QueueSize>);

impl Vegas {
    /// Creates a limit within these rules.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is out of bounds or contradicts another rule.
    pub fn new(rules: AdaptiveRules) -> Result<Self, ConfigError> {
        Guarded::new(rules, QueueSize::default()).map(Self)
    }
}

impl AdaptiveLimit for Vegas {
    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        self.0.observe(sample)
    }
}

/// The rule without its guard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueSize {
    /// The shortest typical hold since the last probe, in seconds.
    base: Option<f64>,
    /// The number of windows since the base was last replaced unconditionally.
    windows_since_probe: u32,
}

impl Rule for QueueSize {
    fn next(&mut self, limit: f64, reading: &WindowReading) -> f64 {
        // A window that sets the base has nothing to be compared with.
        let Some(base) = self.base(reading.hold) else { return limit };
        let queue = limit * (1.0 - base / reading.hold);
        let step = limit.log10().max(1.0);
        if queue <= step {
            limit + 6.0 * step
        } else if queue < (3.0 * step).max(limit / 10.0) {
            limit + step
        } else if queue > (6.0 * step).max(limit / 5.0) {
            limit - step
        } else {
            limit
        }
    }
}

impl QueueSize {
    /// Returns the base to compare this hold with, or `None` if the hold has become the new base.
    fn base(&mut self, hold: f64) -> Option<f64> {
        self.windows_since_probe += 1;
        if self.windows_since_probe < PROBE
            && let Some(base) = self.base
            && base <= hold
        {
            return Some(base);
        }
        if self.windows_since_probe >= PROBE {
            self.windows_since_probe = 0;
        }
        self.base = Some(hold);
        None
    }
}

/// The number of windows after which the base is measured again: once a minute with windows of a
/// second, as in Envoy.
const PROBE: u32 = 60;
