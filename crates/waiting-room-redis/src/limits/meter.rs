//! The meter of a limit as the script knows it, in whole numbers that Lua holds exactly.

use std::time::Duration;

use waiting_room_core::{Algorithm, Alignment, KeyHasher, Quota, RatePolicy, Refusals};

/// The meter of a limit, in the numbers of the script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    pub(super) code: i64,
    /// Of a bucket the interval, else the window.
    pub(super) period: u64,
    /// So many units of the period are a microsecond.
    pub(super) per_us: u64,
    /// The most that a bucket of any tier holds.
    pub(super) highest: u64,
    /// Stands for the quotas of all tiers.
    pub(super) version: u64,
}

impl Meter {
    pub(super) fn of(policy: &RatePolicy, tier: usize) -> Self {
        let (algorithm, quota) = (policy.algorithm(), policy.quota(tier));
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

    /// What the names of its keys have of it: what is counted in other numbers, or in each tier by
    /// itself, has other keys.
    pub(super) fn kind(self, policy: &RatePolicy, tier: usize) -> String {
        let kind = match policy.algorithm() {
            Algorithm::FixedWindow(Alignment::Epoch) => "w",
            Algorithm::FixedWindow(Alignment::FirstHit) => "h",
            Algorithm::LeakyQueue => "q",
            Algorithm::SlidingCounter => "c",
            Algorithm::SlidingLog(Refusals::Ignore) => "l",
            Algorithm::SlidingLog(Refusals::Count) => "p",
            _ => "b",
        };
        match (policy.algorithm().is_bucket(), self.per_us) {
            (true, NANOS) => kind.to_owned(),
            (true, _) => format!("{kind}u"),
            (false, _) => format!("{kind}{}", policy.tier(tier)),
        }
    }

    /// What a receipt is marked with: a time in nanoseconds, for a bucket with its level added.
    pub(super) fn mark(self, at_us: u64, level: u64) -> u64 {
        at_us.saturating_mul(NANOS).saturating_add(level.saturating_mul(NANOS / self.per_us))
    }

    /// The same as the script reads it.
    pub(super) fn marks(self, mark: u64) -> (i64, i64) {
        (whole(mark / NANOS), whole(mark % NANOS / (NANOS / self.per_us)))
    }
}

/// The place of a meter among those of the script.
fn code(algorithm: Algorithm) -> i64 {
    match algorithm {
        Algorithm::LeakyQueue => 2,
        Algorithm::FixedWindow(Alignment::Epoch) => 3,
        Algorithm::FixedWindow(Alignment::FirstHit) => 4,
        Algorithm::SlidingCounter => 5,
        Algorithm::SlidingLog(Refusals::Ignore) => 6,
        Algorithm::SlidingLog(Refusals::Count) => 7,
        _ => 1,
    }
}

/// The time in which one comes back, in units of which a microsecond has so many; rounded up.
fn interval(quota: &Quota, per_us: u64) -> u64 {
    nanos(quota.interval()).div_ceil(NANOS / per_us)
}

fn span(quota: &Quota, per_us: u64) -> u64 {
    quota.capacity().saturating_mul(interval(quota, per_us))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A number as a script can hold it exactly.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).expect("it is smaller than 2^53")
}

/// Nanoseconds of a microsecond.
const NANOS: u64 = 1_000;
/// The greatest number that a script counts to.
const MOST: u64 = (1 << 53) - 1;
