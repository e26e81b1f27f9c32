//! The expected wait of a visitor and its range, estimated from the measured rate of admissions.
//!
//! Admissions are counted in slices of ten seconds over the last three minutes. The expected wait
//! for the `k`-th admission from now is `k` divided by the measured rate. The range is computed as
//! for a renewal process with the measured index of dispersion, so bursts of admissions widen it.
//! Until admissions have been counted for 30 seconds, the rate is derived from the configured
//! limits.
//!
//! ```text
//!  admissions   3  0  4  2  …  3  1     18 complete slices of 10 s, and the current one
//!               └────────────────┘└► now
//!  rate = sum / time,  dispersion = variance / mean of the complete slices
//! ```
//!
//! First tickets are counted in the same way, but over the last six slices only.
//!
//! The estimate ignores sessions that are about to lapse, and visitors who are away and will come
//! back to their places.

use std::{collections::VecDeque, time::Duration};

use crate::Timestamp;

/// An expected wait: the median of its distribution and the two other quartiles.
///
/// All values are in whole seconds, rounded up, as they are sent to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitEstimate {
    /// The first quartile: a quarter of all visitors wait less than this.
    pub p25: Duration,
    /// The median: half of all visitors wait less than this.
    pub p50: Duration,
    /// The third quartile: three quarters of all visitors wait less than this.
    pub p75: Duration,
}

impl WaitEstimate {
    /// The longest wait that is reported: one day. Longer waits are reported as this value.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// Creates an estimate from its quartiles, each rounded up to whole seconds and capped at
    /// [`MAX`](Self::MAX).
    #[must_use]
    pub fn new(p25: Duration, p50: Duration, p75: Duration) -> Self {
        Self { p25: whole(p25), p50: whole(p50), p75: whole(p75) }
    }

    /// Returns the expected wait behind `ahead` other visitors, at `per_second` admissions per
    /// second, or `None` if the rate is zero.
    ///
    /// The dispersion is the variance of the number of admissions per time slice, divided by the
    /// mean of that number. It is 1 if admissions are independent, and higher if they come in
    /// bursts.
    #[must_use]
    pub fn behind(ahead: u32, per_second: f64, dispersion: f64) -> Option<Self> {
        if per_second <= 0.0 {
            return None;
        }
        let count = f64::from(ahead) + 1.0;
        let mean = count / per_second;
        // The number of admissions in a given time has a variance of dispersion × mean, so the time
        // until `count` admissions has a standard deviation of √(count × dispersion) / rate.
        let spread = QUARTILE * (count * dispersion).sqrt() / per_second;
        Some(Self::new(seconds(mean - spread), seconds(mean), seconds(mean + spread)))
    }

    /// Returns the expected wait of one of `present` visitors whose order is drawn by lot, at
    /// `per_second` admissions per second, or `None` if the rate is zero.
    #[must_use]
    pub fn by_lot(present: u32, per_second: f64) -> Option<Self> {
        if per_second <= 0.0 {
            return None;
        }
        // Each position is equally likely, so the wait is uniformly distributed, up to the wait of
        // the last visitor.
        let all = (f64::from(present) + 1.0) / per_second;
        Some(Self::new(seconds(all * 0.25), seconds(all * 0.5), seconds(all * 0.75)))
    }
}

/// The 0.75 quantile of the standard normal distribution.
const QUARTILE: f64 = 0.674_489_75;

/// Counts admissions and first tickets, and computes rates from these counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// The number of admissions in each slice, oldest first. The last slice is the current slice.
    slices: VecDeque<u32>,
    /// The number of first tickets in each of the last six slices, the current slice first.
    first_touches: [u32; 6],
    /// The index of the current slice, counted from the Unix epoch.
    current: u64,
    /// The time at which counting began, or `None` before the first call.
    began: Option<Timestamp>,
}

impl Estimate {
    /// The length of a slice.
    const SLICE: Duration = Duration::from_secs(10);
    /// The number of complete slices that are retained. Together, they cover three minutes.
    const SLICES: usize = 18;
    /// The time for which admissions must have been counted before a rate is measured.
    const TRUSTED_AFTER: Duration = Duration::from_secs(30);

    /// Counts an admission at `now`.
    pub(crate) fn record(&mut self, now: Timestamp) {
        self.roll(now);
        if let Some(slice) = self.slices.back_mut() {
            *slice = slice.saturating_add(1);
        }
    }

    /// Forgets the admissions that were counted, because an event that starts at `now` changes the
    /// rate of admissions.
    pub(crate) fn restart(&mut self, now: Timestamp) {
        self.roll(now);
        self.slices = VecDeque::from([0]);
        self.began = Some(now);
    }

    /// Counts a first ticket at `now`.
    pub(crate) fn record_first_touch(&mut self, now: Timestamp) {
        self.roll(now);
        self.first_touches[0] = self.first_touches[0].saturating_add(1);
    }

    /// Returns the number of first tickets in the current slice and the five before it, which
    /// together cover the last 50 to 60 seconds.
    pub(crate) fn first_touches_in_last_minute(&mut self, now: Timestamp) -> u32 {
        self.roll(now);
        self.first_touches.iter().fold(0, |sum, touches| sum.saturating_add(*touches))
    }

    /// Returns the number of first tickets per second over the current slice and the previous one.
    pub(crate) fn first_touches_per_second(&mut self, now: Timestamp) -> f64 {
        self.roll(now);
        let touches = f64::from(self.first_touches[0]) + f64::from(self.first_touches[1]);
        let covered = Self::SLICE + Duration::from_nanos(now.as_nanos() % nanos(Self::SLICE));
        touches / covered.as_secs_f64()
    }

    /// Returns the number of admissions per second over the last three minutes, or `fallback` until
    /// admissions have been counted for long enough.
    ///
    /// The rate is zero if no visitor has been admitted in that time.
    pub(crate) fn rate(&mut self, now: Timestamp, fallback: f64) -> f64 {
        self.roll(now);
        match self.measured_for(now) {
            Some(elapsed) => f64::from(self.total()) / elapsed.as_secs_f64(),
            None => fallback,
        }
    }

    /// Returns the expected wait behind `ahead` other visitors, or `None` if no visitor is being
    /// admitted.
    pub(crate) fn wait(
        &mut self,
        ahead: u32,
        now: Timestamp,
        fallback: f64,
    ) -> Option<WaitEstimate> {
        WaitEstimate::behind(ahead, self.rate(now, fallback), self.dispersion())
    }

    /// Returns the expected wait of one of `present` visitors whose order is drawn by lot, or
    /// `None` if no visitor is being admitted.
    pub(crate) fn lottery(
        &mut self,
        present: u32,
        now: Timestamp,
        fallback: f64,
    ) -> Option<WaitEstimate> {
        WaitEstimate::by_lot(present, self.rate(now, fallback))
    }

    /// Returns the variance of the complete slices divided by their mean, which is 1 for
    /// independent admissions.
    ///
    /// The result is at least 1, because admissions may become less steady than they have been.
    fn dispersion(&self) -> f64 {
        let complete = self.slices.len().saturating_sub(1);
        let total: u32 = self.slices.iter().take(complete).sum();
        if complete < 3 || total == 0 {
            return 1.0;
        }
        let count = complete as f64;
        let mean = f64::from(total) / count;
        let squares: f64 =
            self.slices.iter().take(complete).map(|&n| (f64::from(n) - mean).powi(2)).sum();
        (squares / (count - 1.0) / mean).max(1.0)
    }

    fn total(&self) -> u32 {
        self.slices.iter().sum()
    }

    /// Returns the time covered by the slices, or `None` while it is too short to measure a rate.
    fn measured_for(&self, now: Timestamp) -> Option<Duration> {
        let kept = Self::SLICE * u32::try_from(self.slices.len().saturating_sub(1)).unwrap_or(0)
            + Duration::from_nanos(now.as_nanos() % nanos(Self::SLICE));
        let elapsed = now.since(self.began?).min(kept);
        (elapsed >= Self::TRUSTED_AFTER).then_some(elapsed)
    }

    /// Makes the slice that contains `now` the current slice, and drops slices older than three
    /// minutes.
    fn roll(&mut self, now: Timestamp) {
        let index = now.as_nanos() / nanos(Self::SLICE);
        if self.began.is_none() {
            self.began = Some(now);
            self.current = index;
            self.slices.push_back(0);
        }
        // After a long quiet period, all slices are empty anyway, so the number of steps is capped.
        let steps = index.saturating_sub(self.current).min(Self::SLICES as u64 + 1);
        for _ in 0..steps {
            self.slices.push_back(0);
            if self.slices.len() > Self::SLICES + 1 {
                self.slices.pop_front();
            }
            self.first_touches.rotate_right(1);
            self.first_touches[0] = 0;
        }
        // If the clock goes backwards, the current slice stays current, and events are counted in
        // it.
        self.current = self.current.max(index);
    }
}

/// Rounds a wait up to whole seconds, and caps it at the longest wait that is reported.
fn whole(duration: Duration) -> Duration {
    let up = u64::from(duration.subsec_nanos() > 0);
    Duration::from_secs(duration.as_secs().saturating_add(up)).min(WaitEstimate::MAX)
}

/// Converts a number of seconds to a wait. A negative number becomes zero, and a number that is too
/// large becomes the longest reported wait.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(WaitEstimate::MAX)
}

/// Converts a duration of whole seconds to nanoseconds.
const fn nanos(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(1_000_000 + secs)
    }

    #[test]
    fn the_configured_rate_stands_in_until_thirty_seconds_are_measured() {
        let mut estimate = Estimate::default();
        estimate.record(at(0));
        assert_eq!(estimate.rate(at(29), 3.0).to_bits(), 3.0_f64.to_bits());
        assert!(estimate.rate(at(30), 3.0) < 0.1);
    }

    #[test]
    fn a_steady_rate_gives_the_wait_and_a_narrow_range() {
        let mut estimate = Estimate::default();
        for second in 0..180 {
            estimate.record(at(second));
            estimate.record(at(second));
        }
        let wait = estimate.wait(99, at(180), 0.0).unwrap();
        assert_eq!(wait.p50, Duration::from_secs(50));
        assert!(wait.p25 >= Duration::from_secs(46) && wait.p75 <= Duration::from_secs(54));
    }

    #[test]
    fn bursts_widen_the_range() {
        let mut steady = Estimate::default();
        let mut bursts = Estimate::default();
        for second in 0..180 {
            steady.record(at(second));
            if second % 60 == 0 {
                (0..60).for_each(|_| bursts.record(at(second)));
            }
        }
        let width = |estimate: &mut Estimate| {
            let wait = estimate.wait(20, at(180), 0.0).unwrap();
            wait.p75.saturating_sub(wait.p25)
        };
        assert!(width(&mut bursts) > 3 * width(&mut steady));
    }

    #[test]
    fn the_wait_is_unknown_after_three_minutes_without_an_admission() {
        let mut estimate = Estimate::default();
        estimate.record(at(0));
        assert!(estimate.wait(0, at(60), 1.0).is_some());
        assert_eq!(estimate.wait(0, at(400), 1.0), None);
    }

    #[test]
    fn first_touches_are_counted_for_a_minute_and_their_rate_for_twenty_seconds() {
        let mut estimate = Estimate::default();
        for second in 0..55 {
            (0..3 + second / 30).for_each(|_| estimate.record_first_touch(at(second)));
        }
        let per_second = estimate.first_touches_per_second(at(55));
        assert_eq!(per_second.to_bits(), 4.0_f64.to_bits());
        assert_eq!(estimate.first_touches_in_last_minute(at(55)), 190);
        // The slice of the first ten seconds is dropped.
        assert_eq!(estimate.first_touches_in_last_minute(at(60)), 160);
        assert_eq!(
            estimate.first_touches_per_second(at(62)).to_bits(),
            (20.0_f64 / 12.0).to_bits()
        );
        assert_eq!(estimate.first_touches_in_last_minute(at(200)), 0);
    }

    #[test]
    fn the_wait_of_a_lot_is_spread_evenly_over_the_whole_line() {
        let wait = WaitEstimate::by_lot(3, 0.01).unwrap();
        assert_eq!([wait.p25, wait.p50, wait.p75].map(|wait| wait.as_secs()), [100, 200, 300]);
        assert_eq!(WaitEstimate::by_lot(3, 0.0), None);
    }

    #[test]
    fn an_endless_wait_is_reported_as_a_day() {
        let mut estimate = Estimate::default();
        estimate.record(at(0));
        let wait = estimate.wait(u32::MAX, at(60), 1.0).unwrap();
        assert_eq!((wait.p50, wait.p75), (WaitEstimate::MAX, WaitEstimate::MAX));
    }
}
