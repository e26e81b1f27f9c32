//! TCP Vegas: how many of those inside are only waiting?

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    guard::{Guarded, Rule},
    window::Reading,
};
use crate::ConfigError;

/// Keeps a small queue inside the service, judged by how much longer requests take than at best.
///
/// If the fastest typical hold is `base` and the present one is `hold`, then of `limit` requests
/// `limit × (1 - base / hold)` are queueing somewhere (Little's law). Few of them: the limit
/// grows; many: it shrinks; in between it rests. The window's hold becomes the new base when it is
/// shorter, and once in 60 windows in any case, so that a service that has become slower for good
/// is not judged by what it used to be.
///
/// After L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global
/// Internet", IEEE JSAC 13(8), 1995, with the steps of Netflix' concurrency-limits. Three things
/// differ from that: it moves by windows and not by requests; it rests between a tenth and a fifth
/// of the limit as that library's documentation has it, where its code stops at 3 to 6 × log₁₀,
/// which for large limits is less than the noise; and it probes without a draw of chance, since
/// the windows of two processes are not in step anyway.
///
/// **Use it** where holds are alike, as they are in front of one kind of request. It answers fast
/// and settles close to the capacity.
#[derive(Clone, Debug)]
pub struct Vegas(Guarded<QueueSize>);

impl Vegas {
    /// Within these rules.
    ///
    /// # Errors
    ///
    /// The first rule that makes no sense.
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

/// The queue inside the service, and the limit that keeps it small.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueSize {
    /// The shortest typical hold since the last probe, in seconds.
    base: Option<f64>,
    windows_since_probe: u32,
}

impl Rule for QueueSize {
    fn next(&mut self, limit: f64, reading: &Reading) -> f64 {
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
    /// What to compare this hold with, unless it is itself the new base.
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

/// The base is measured anew after so many windows: once in a minute, as Envoy does it.
const PROBE: u32 = 60;
