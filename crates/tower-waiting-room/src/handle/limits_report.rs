//! How effective the rate limits are, as numbers and as a table.

use std::fmt;

use serde::Serialize;
use waiting_room_core::{Timestamp, rate::KeyCensus};

use crate::{
    rate::{OverLimit, Policy},
    telemetry::Rate,
};

/// How effective each limit is, in the order in which the limits apply.
///
/// [`LimitsHandle::report`](super::LimitsHandle::report) returns a report. It is displayed as a
/// table:
///
/// ```text
/// limit   requests  refused   in shadow   keys  near the limit
/// per_ip     10000    1.50%           -   1200              18
/// login        310        -       4.52%    ~70              ~3
/// ```
///
/// A limit without refusals and without keys near the limit has no effect. Before a limit in shadow
/// mode is enforced, its shadow share shows how many requests would be refused: if none of them is
/// abuse, the limit is too low.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LimitsReport {
    /// One report for each limit.
    pub limits: Vec<LimitReport>,
}

/// How effective one limit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LimitReport {
    /// The name of the limit.
    pub name: String,
    /// The number of requests that were within the limit.
    pub allowed: u64,
    /// The number of requests that the limit refused.
    pub refused: u64,
    /// The number of requests that were marked because they exceeded the limit.
    pub marked: u64,
    /// The number of requests that would have been refused if the limit were not in shadow mode.
    pub over_in_shadow: u64,
    /// The keys that the limit tracks, and those near the limit.
    pub keys: KeyCensus,
    /// The number of keys that lost their places in the limit's table while they were in use.
    pub displaced_keys: u64,
    /// Whether the limit is in shadow mode.
    pub is_shadow: bool,
}

impl LimitReport {
    /// Describes a limit at `now`.
    pub(super) fn of(policy: &Policy, now: Timestamp) -> Self {
        let limit = &policy.subject;
        Self {
            name: policy.name.to_string(),
            allowed: limit.decided(Rate::Allowed),
            refused: limit.decided(Rate::Refused),
            marked: limit.decided(Rate::OverSoft),
            over_in_shadow: limit.decided(Rate::OverShadow),
            keys: policy.limiter.census(now),
            displaced_keys: policy.limiter.displaced(),
            is_shadow: policy.limit.over_limit == OverLimit::Shadow,
        }
    }

    /// Returns the number of requests that the limit has decided on. A request that another limit
    /// refused does not count, because it was not charged.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.allowed + self.refused + self.marked + self.over_in_shadow
    }

    /// Returns the fraction of requests that the limit refused, from 0 to 1, or 0 if there were
    /// none.
    #[must_use]
    pub fn refused_share(&self) -> f64 {
        self.share(self.refused)
    }

    /// Returns the fraction of requests that exceeded the limit in shadow mode, from 0 to 1, or 0
    /// if there were none.
    #[must_use]
    pub fn shadow_share(&self) -> f64 {
        self.share(self.over_in_shadow)
    }

    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 52 bits")]
    fn share(&self, part: u64) -> f64 {
        part as f64 / self.requests().max(1) as f64
    }
}

impl fmt::Display for LimitsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.limits.iter().map(|limit| limit.name.chars().count());
        let width = width.max().unwrap_or(0).max("limit".len());
        write!(f, "{:width$} {:>10} {:>8} {:>11}", "limit", "requests", "refused", "in shadow")?;
        write!(f, " {:>8} {:>15}", "keys", "near the limit")?;
        for limit in &self.limits {
            let percent = |is_possible: bool, share: f64| {
                if is_possible { format!("{:.2}%", share * 100.0) } else { "-".to_owned() }
            };
            let about = if limit.keys.is_estimate { "~" } else { "" };
            let keys = [limit.keys.tracked, limit.keys.near_limit];
            let [tracked, near] = keys.map(|keys| format!("{about}{keys}"));
            let refused = percent(!limit.is_shadow, limit.refused_share());
            let shadow = percent(limit.is_shadow, limit.shadow_share());
            let name = &limit.name;
            let requests = limit.requests();
            write!(f, "\n{name:width$} {requests:>10} {refused:>8} {shadow:>11}")?;
            write!(f, " {tracked:>8} {near:>15}")?;
        }
        Ok(())
    }
}
