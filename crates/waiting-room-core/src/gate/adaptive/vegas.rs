//! Vegas: a limit based on an estimate of how many running requests are queueing inside the
//! service.

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    guard::{Guarded, Rule},
    window::WindowReading,
};
use crate::ConfigError;

/// A limit that keeps a small queue inside the service. The length of the queue is estimated by
/// comparing the current hold with the shortest hold.
///
/// Let `base` be the shortest typical hold, and `hold` the current typical hold. By Little's law,
/// `limit × (1 - base / hold)` of the `limit` running requests are then queueing somewhere in the
/// service. The limit grows if few requests are queueing, shrinks if many requests are queueing,
/// and otherwise stays the same.
///
/// The hold of a window becomes the new base if it is shorter than the old base. Once every 60
/// windows, the base is replaced unconditionally, because a service that has become permanently
/// slower should not be compared with its past.
///
/// ```text
/// queue     0 ─────── few ─────── a tenth ─────── a fifth of the limit ─────►
/// limit       grows fast    grows         stays                    shrinks
/// ```
///
/// The algorithm is based on L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on
/// a global Internet", IEEE JSAC 13(8), 1995, with the step sizes of Netflix's concurrency-limits.
/// The implementation differs from that library in three ways. First, this limit changes once per
/// window rather than once per request. Second, a limit above about 50 stays the same while the
/// queue is between a tenth and a fifth of the limit, as the library's documentation states. The
/// library's code uses the range from 3 to 6 × log₁₀ of the limit, as this implementation does for
/// smaller limits. For a large limit, that range is narrower than the noise. Third, this limit
/// replaces the base at fixed rather than random intervals, because the windows of two processes
/// are not synchronized anyway.
///
/// **Use this limit** if holds are similar, for example because all requests are of the same kind.
/// The limit reacts quickly and settles close to the capacity.
#[derive(Clone, Debug)]
pub struct Vegas(Guarded<QueueSize>);

impl Vegas {
    /// Creates a limit that follows these rules.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is out of bounds or contradicts another rule.
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

/// The Vegas rule without the guard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueSize {
    /// The shortest typical hold since the last probe, in seconds.
    base: Option<f64>,
    /// The number of windows since the base was last replaced unconditionally.
    windows_since_probe: u32,
}

impl Rule for QueueSize {
    fn next(&mut self, limit: f64, reading: &WindowReading) -> f64 {
        // If the hold of this window has become the base, there is no earlier hold to compare it
        // with.
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

/// The number of windows after which the base is measured again. With windows of one second, the
/// base is measured once a minute, as in Envoy.
const PROBE: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_of_the_queue_has_its_step() {
        // The decimal logarithms of these limits are 2, 1.3 and 0.7, which counts as 1.
        for (limit, queue, step) in [
            (100.0, 1.9, 12.0),
            (100.0, 2.1, 2.0),
            (100.0, 9.9, 2.0),
            (100.0, 10.1, 0.0),
            (100.0, 19.9, 0.0),
            (100.0, 20.1, -2.0),
            (20.0, 1.2, 7.806),
            (20.0, 1.4, 1.301),
            (20.0, 3.8, 1.301),
            (20.0, 4.0, 0.0),
            (20.0, 7.7, 0.0),
            (20.0, 7.9, -1.301),
            (5.0, 0.9, 6.0),
            (5.0, 2.9, 1.0),
            (5.0, 4.9, 0.0),
        ] {
            let mut rule = QueueSize { base: Some(0.1), windows_since_probe: 0 };
            let reading = WindowReading {
                in_flight: limit,
                peak: limit,
                throughput: 1.0,
                hold: 0.1 / (1.0 - queue / limit),
                overloaded: false,
                after_a_pause: false,
            };
            let changed = rule.next(limit, &reading) - limit;
            assert!((changed - step).abs() < 1e-3, "{changed} with {queue} of {limit}");
        }
    }
}
