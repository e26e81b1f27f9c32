//! The limits that compare no hold with earlier ones: one that does not move, and additive increase
//! with multiplicative decrease.

use super::{
    AdaptiveLimit, AdaptiveRules, Sample,
    guard::{Guarded, Rule},
    window::Reading,
};
use crate::ConfigError;

/// As many as it was told, however the requests go. The default.
///
/// 0 lets nobody run: the gate is closed. It does not mean "without limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedLimit(u32);

/// One more after each good window, a tenth less after each bad one.
///
/// A window is bad where more than one request in a hundred found the service overloaded, or the
/// typical hold is above the [`latency_target`](AdaptiveRules::latency_target). Unlike the others it
/// compares no hold with earlier ones: without a target, and where nobody ever says "overloaded",
/// nothing but the throughput stops it.
///
/// The rule that keeps the Internet stable and fair (D.-M. Chiu, R. Jain, "Analysis of the
/// increase and decrease algorithms for congestion avoidance in computer networks", Computer
/// Networks and ISDN Systems 17, 1989; RFC 5681 section 3.1), with the tenth of Netflix'
/// concurrency-limits.
///
/// **Use it** where the service says clearly when it has had enough.
#[derive(Clone, Debug)]
pub struct Aimd(Guarded<OneMore>);

impl FixedLimit {
    /// This many.
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
    /// Within these rules.
    ///
    /// # Errors
    ///
    /// The first rule that makes no sense.
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

/// The additive half. The multiplicative one is what the guard does to every limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneMore;

impl Rule for OneMore {
    fn next(&mut self, limit: f64, _: &Reading) -> f64 {
        limit + 1.0
    }
}
