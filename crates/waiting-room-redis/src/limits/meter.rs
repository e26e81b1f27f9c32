//! The meter of a limit as the script receives it, in integers that Lua can represent exactly.
//!
//! All numbers in Lua are doubles, in which integers are exact up to 2^53. This range is enough for
//! microseconds since the Unix epoch until the year 2255, but not for nanoseconds. The script
//! therefore stores absolute times in microseconds. It stores the level of a bucket separately,
//! relative to an absolute time, and in nanoseconds if the size of the bucket allows it:
//!
//! | algorithm | `period` | `per_us` |
//! |---|---|---|
//! | token bucket, GCRA, leaky queue | the interval of one event | 1 000, or 1 from 26 days on |
//! | windows, counter, logs | the window in microseconds | 1 |
//!
//! The threshold of 26 days applies to the time that the limit's largest bucket takes to fill.
//! These 26 days correspond to 2^51 ns, a quarter of the range, so that a level and any amount
//! added to it stay exact.

use std::time::Duration;

use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, KeyHasher, RatePolicy, Refusals},
};

/// The meter of a limit in one tier, in the integers of the script.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptMeter {
    /// The code of the algorithm, as returned by [`code`].
    pub(super) code: i64,
    /// The interval of a bucket, where a microsecond has `per_us` units, or the window of another
    /// algorithm, in microseconds.
    pub(super) period: u64,
    /// The number of units of `period` in a microsecond, which is 1 000 or 1.
    pub(super) per_us: u64,
    /// The highest level that a bucket of any tier allows, or zero for other algorithms.
    pub(super) highest: u64,
    /// A hash of the quotas of all tiers, with which the script detects a change of the quotas, or
    /// zero for algorithms other than buckets.
    pub(super) version: u64,
}

impl ScriptMeter {
    /// Returns the meter of a limit in one tier.
    ///
    /// The tiers of a bucket share one state, so they must use the same unit, which is nanoseconds
    /// only if the buckets of all tiers are small enough.
    pub(super) fn of(policy: &RatePolicy, tier: usize) -> Self {
        let algorithm = policy.algorithm();
        let quota = policy.quota(tier);
        let code = code(algorithm);
        if !algorithm.is_bucket() {
            let period = nanos(quota.window()).div_ceil(NANOS);
            return Self { code, period, per_us: 1, highest: 0, version: 0 };
        }
        let spans = policy.quotas().iter().map(|quota| span(quota, NANOS));
        let per_us = if spans.max() < Some(MOST / 4) { NANOS } else { 1 };
        let highest = policy.quotas().iter().map(|quota| span(quota, per_us)).max();
        let quotas =
            policy.quotas().iter().map(|quota| (quota.capacity(), interval(quota, per_us)));
        let version = KeyHasher::shared([0, per_us]).hash(&quotas.collect::<Vec<_>>()).as_u64();
        let period = interval(&quota, per_us);
        Self { code, period, per_us, highest: highest.unwrap_or(0), version: version & MOST }
    }

    /// Returns the part of a key's name that identifies the encoding of the key's state.
    ///
    /// If one algorithm or unit could misread a state that another has written, the two use
    /// different keys. The tiers of a window, a counter or a log also have different keys, because
    /// these algorithms count each tier separately.
    pub(super) fn kind(self, policy: &RatePolicy, tier: usize) -> String {
        let kind = match policy.algorithm() {
            Algorithm::FixedWindow(Alignment::Epoch) => "w",
            Algorithm::FixedWindow(Alignment::FirstHit) => "h",
            Algorithm::Gcra | Algorithm::TokenBucket => "b",
            Algorithm::LeakyQueue => "q",
            Algorithm::SlidingCounter => "c",
            Algorithm::SlidingLog(Refusals::Ignore) => "l",
            Algorithm::SlidingLog(Refusals::Count) => "p",
        };
        match (policy.algorithm().is_bucket(), self.per_us) {
            (true, NANOS) => kind.to_owned(),
            (true, _) => format!("{kind}u"),
            (false, _) => format!("{kind}{}", policy.tier(tier)),
        }
    }

    /// Encodes the two numbers of the script's receipt as the mark of a charge. The mark is in
    /// nanoseconds.
    ///
    /// For a bucket, the mark is the time at which its level would reach zero. For all other
    /// algorithms, `level` is zero, and the mark is `at_us` in nanoseconds.
    pub(super) fn mark(self, at_us: u64, level: u64) -> u64 {
        at_us.saturating_mul(NANOS).saturating_add(level.saturating_mul(NANOS / self.per_us))
    }

    /// Decodes a mark into the two numbers that the script expects.
    ///
    /// The two numbers need not be the numbers that the script returned, as long as their sum is
    /// the same, because the level falls at the rate at which time passes.
    pub(super) fn marks(self, mark: u64) -> (i64, i64) {
        (whole(mark / NANOS), whole(mark % NANOS / (NANOS / self.per_us)))
    }
}

/// Returns the index of an algorithm in `families` in `lua/charge.lua`.
fn code(algorithm: Algorithm) -> i64 {
    match algorithm {
        Algorithm::Gcra | Algorithm::TokenBucket => 1,
        Algorithm::LeakyQueue => 2,
        Algorithm::FixedWindow(Alignment::Epoch) => 3,
        Algorithm::FixedWindow(Alignment::FirstHit) => 4,
        Algorithm::SlidingCounter => 5,
        Algorithm::SlidingLog(Refusals::Ignore) => 6,
        Algorithm::SlidingLog(Refusals::Count) => 7,
    }
}

/// Returns the time in which a bucket restores one event, where a microsecond has `per_us` units.
/// The result is rounded up, so that the limit is never too lax.
fn interval(quota: &Quota, per_us: u64) -> u64 {
    nanos(quota.interval()).div_ceil(NANOS / per_us)
}

/// Returns the level of a full bucket, where a microsecond has `per_us` units.
fn span(quota: &Quota, per_us: u64) -> u64 {
    quota.capacity().saturating_mul(interval(quota, per_us))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a number for the script, and caps it at the greatest integer that Lua can represent
/// exactly.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).expect("the number is smaller than 2^53")
}

/// The number of nanoseconds in a microsecond.
const NANOS: u64 = 1_000;
/// The greatest integer up to which a double can represent all integers exactly.
const MOST: u64 = (1 << 53) - 1;
