//! The limits that do not compare holds with earlier ones: a fixed limit, and additive increase
//! with multiplicative decrease.

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    guard::{Guarded, Rule},
    window::WindowReading,
};
use crate::ConfigError;

/// A limit that never changes. The default.
///
/// 0 closes the gate. It does not mean "without limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedLimit(u32);

/// A limit that grows by one after each good window and shrinks by a tenth after each bad one.
///
/// A window is bad if more than one request in a hundred found the service overloaded, or if the
/// typical hold is above the [`latency_target`](AdaptiveRules::latency_target). Unlike the other
/// adaptive limits, this one does not compare holds with earlier ones. Without a target and without
/// reports of overload, only the throughput veto and the bounds keep it from growing.
///
/// This is the rule of TCP congestion avoidance (D.-M. Chiu, R. Jain, "Analysis of the increase and
/// decrease algorithms for congestion avoidance in computer networks", Computer Networks and ISDN
/// Systems 17, 1989; RFC 5681 section 3.1), with the decrease by a tenth from Netflix's
/// concurrency-limits.
///
/// **Use it** if the service reports overload clearly.
#[derive(Clone, Debug)]
pub struct Aimd(Guarded<OneMore>);

impl FixedLimit {
    /// Creates a limit of this many requests.
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
    /// Creates a limit within these rules.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is out of bounds or contradicts another rule.
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

/// The additive increase. The multiplicative decrease is made by the guard, which applies to all
/// adaptive limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneMore;

impl Rule for OneMore {
    fn next(&mut self, limit: f64, _: &WindowReading) -> f64 {
        limit + 1.0
    }
}
