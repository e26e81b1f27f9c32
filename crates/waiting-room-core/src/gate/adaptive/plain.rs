//! The limits that do not compare holds with earlier holds: a fixed limit, and additive increase
//! with multiplicative decrease.

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    guard::{Guarded, Rule},
    window::WindowReading,
};
use crate::ConfigError;

/// A limit that never changes. A fixed limit is the default.
///
/// A limit of 0 closes the gate. It does not mean that there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedLimit(u32);

/// A limit that grows by one after each good window and shrinks by a tenth after each bad window.
///
/// A window is bad if more than one request in a hundred reported an overload, or if the typical
/// hold is above the [`latency_target`](AdaptiveRules::latency_target). Unlike the other adaptive
/// limits, `Aimd` does not compare holds with earlier holds. If there is neither a target nor a
/// report of overload, only the throughput veto and the bounds stop the limit from growing under
/// full load.
///
/// This is the rule of TCP congestion avoidance (D.-M. Chiu, R. Jain, "Analysis of the increase and
/// decrease algorithms for congestion avoidance in computer networks", Computer Networks and ISDN
/// Systems 17, 1989; RFC 5681 section 3.1), with a decrease of a tenth, as in Netflix's
/// concurrency-limits.
///
/// **Use this limit** if the service clearly reports when it is overloaded.
#[derive(Clone, Debug)]
pub struct Aimd(Guarded<OneMore>);

impl FixedLimit {
    /// Creates a fixed limit of `limit` requests.
    #[must_use]
    pub const fn new(limit: u32) -> Self {
        Self(limit)
    }
}

impl AdaptiveLimit for FixedLimit {
    fn limit(&self) -> u32 {
        self.0
    }

    fn observe(&mut self, _: &Sample) -> u32 {
        self.0
    }
}

impl Aimd {
    /// Creates a limit that follows these rules.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is out of bounds or contradicts another rule.
    pub fn new(rules: AdaptiveRules) -> Result<Self, ConfigError> {
        Guarded::new(rules, OneMore).map(Self)
    }
}

impl AdaptiveLimit for Aimd {
    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        self.0.observe(sample)
    }
}

/// The additive increase of `Aimd`. The multiplicative decrease is part of the guard, which all
/// adaptive limits share.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneMore;

impl Rule for OneMore {
    fn next(&mut self, limit: f64, _: &WindowReading) -> f64 {
        limit + 1.0
    }
}
