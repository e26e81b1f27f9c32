//! How long will it take? Measured, with a range, and honest about not knowing.
//!
//! Admissions are counted in slices of ten seconds over the last three minutes. A wait for the
//! `k`-th admission from now is `k` divided by the measured rate; its spread is that of a renewal
//! process with the measured index of dispersion, so a rate that comes in bursts widens the range.
//! Until there is enough to measure, the configured limits stand in for the rate.
//!
//! First tickets are counted in the same slices.

use std::{collections::VecDeque, time::Duration};

use crate::Timestamp;

/// How long a wait is expected to be: a median with the middle half around it.
///
/// In whole seconds, rounded up, as every client gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitEstimate {
    /// A quarter of the visitors waits less than this.
    pub p25: Duration,
    /// Half of the visitors waits less than this.
    pub p50: Duration,
    /// Three quarters of the visitors wait less than this.
    pub p75: Duration,
}

impl WaitEstimate {
    /// The longest wait that is stated; a longer one is told as this.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// A wait with this range, each rounded up to whole seconds and cut at [`MAX`](Self::MAX).
    #[must_use]
    pub fn new(p25: Duration, p50: Duration, p75: Duration) -> Self {
        Self { p25: whole(p25), p50: whole(p50), p75: whole(p75) }
    }

    /// The wait for the admission after `ahead` others, where so many are let in per second.
    ///
    /// The dispersion is the variance of the admissions in equal times over their mean: 1 if they
    /// come independently, more if they come in bursts. `None` if nobody is being let in.
    #[must_use]
    pub fn behind(ahead: u32, per_second: f64, dispersion: f64) -> Option<Self> {
        if per_second <= 0.0 {
            return None;
        }
        let count = f64::from(ahead) + 1.0;
        let mean = count / per_second;
        let spread = QUARTILE * (count * dispersion).sqrt() / per_second;
        Some(Self::new(seconds(mean - spread), seconds(mean), seconds(mean + spread)))
    }

    /// The wait of one among `present` equals whose order is drawn by lot, where so many are let
    /// in per second. `None` if nobody is.
    #[must_use]
    pub fn by_lot(present: u32, per_second: f64) -> Option<Self> {
        if per_second <= 0.0 {
            return None;
        }
        let all = (f64::from(present) + 1.0) / per_second;
        Some(Self::new(seconds(all * 0.25), seconds(all * 0.5), seconds(all * 0.75)))
    }
}

/// The normal quantile of 0.75.
const QUARTILE: f64 = 0.674_489_75;

/// The measured rates of admissions and of first tickets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// Admissions per slice, oldest first; the last is the current one.
    slices: VecDeque<u32>,
    /// First tickets in the last slices, the current one first.
    first_touches: [u32; 6],
    /// The index of the current slice since the epoch.
    current: u64,
    /// When counting began.
    began: Option<Timestamp>,
}

impl Estimate {
    const SLICE: Duration = Duration::from_secs(10);
    const SLICES: usize = 18;
    /// Measured for less than this, the rate is not trusted.
    const TRUSTED_AFTER: Duration = Duration::from_secs(30);

    /// Counts one admission at `now`.
    pub(crate) fn record(&mut self, now: Timestamp) {
        self.roll(now);
        if let Some(slice) = self.slices.back_mut() {
            *slice = slice.saturating_add(1);
        }
    }

    /// Counts one first ticket at `now`.
    pub(crate) fn record_first_touch(&mut self, now: Timestamp) {
        self.roll(now);
        self.first_touches[0] = self.first_touches[0].saturating_add(1);
    }

    /// First tickets in the current slice and the five before: the last 50 to 60 seconds.
    pub(crate) fn first_touches_in_last_minute(&mut self, now: Timestamp) -> u32 {
        self.roll(now);
        self.first_touches.iter().fold(0, |sum, touches| sum.saturating_add(*touches))
    }

    /// First tickets per second over the current slice and the one before.
    pub(crate) fn first_touches_per_second(&mut self, now: Timestamp) -> f64 {
        self.roll(now);
        let touches = f64::from(self.first_touches[0]) + f64::from(self.first_touches[1]);
        let covered = Self::SLICE + Duration::from_nanos(now.as_nanos() % nanos(Self::SLICE));
        touches / covered.as_secs_f64()
    }

    /// Admissions per second over the last three minutes, or `fallback` while that is not known.
    ///
    /// Zero if nobody was let in for three minutes.
    pub(crate) fn rate(&mut self, now: Timestamp, fallback: f64) -> f64 {
        self.roll(now);
        match self.measured_for(now) {
            Some(elapsed) => f64::from(self.total()) / elapsed.as_secs_f64(),
            None => fallback,
        }
    }

    /// The wait for the admission after `ahead` others, or `None` if nobody is being let in.
    pub(crate) fn wait(
        &mut self,
        ahead: u32,
        now: Timestamp,
        fallback: f64,
    ) -> Option<WaitEstimate> {
        WaitEstimate::behind(ahead, self.rate(now, fallback), self.dispersion())
    }

    /// The wait of one among `present` equals whose order is drawn by lot.
    pub(crate) fn lottery(
        &mut self,
        present: u32,
        now: Timestamp,
        fallback: f64,
    ) -> Option<WaitEstimate> {
        WaitEstimate::by_lot(present, self.rate(now, fallback))
    }

    /// Variance over mean of the slices that are complete; 1 for independent arrivals.
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

    /// The time that the slices cover, once it is long enough to be trusted.
    fn measured_for(&self, now: Timestamp) -> Option<Duration> {
        let kept = Self::SLICE * u32::try_from(self.slices.len().saturating_sub(1)).unwrap_or(0)
            + Duration::from_nanos(now.as_nanos() % nanos(Self::SLICE));
        let elapsed = now.since(self.began?).min(kept);
        (elapsed >= Self::TRUSTED_AFTER).then_some(elapsed)
    }

    /// Makes the slice of `now` the current one, and forgets those that left the three minutes.
    fn roll(&mut self, now: Timestamp) {
        let index = now.as_nanos() / nanos(Self::SLICE);
        if self.began.is_none() {
            self.began = Some(now);
            self.current = index;
            self.slices.push_back(0);
        }
        let steps = index.saturating_sub(self.current).min(Self::SLICES as u64 + 1);
        for _ in 0..steps {
            self.slices.push_back(0);
            if self.slices.len() > Self::SLICES + 1 {
                self.slices.pop_front();
            }
            self.first_touches.rotate_right(1);
            self.first_touches[0] = 0;
        }
        self.current = self.current.max(index);
    }
}

fn whole(duration: Duration) -> Duration {
    let up = u64::from(duration.subsec_nanos() > 0);
    Duration::from_secs(duration.as_secs().saturating_add(up)).min(WaitEstimate::MAX)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(WaitEstimate::MAX)
}

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
    fn nobody_let_in_for_three_minutes_means_that_the_wait_is_unknown() {
        let mut estimate = Estimate::default();
        estimate.record(at(0));
        assert!(estimate.wait(0, at(60), 1.0).is_some());
        assert_eq!(estimate.wait(0, at(400), 1.0), None);
    }

    #[test]
    fn an_endless_wait_is_told_as_a_day() {
        let mut estimate = Estimate::default();
        estimate.record(at(0));
        let wait = estimate.wait(u32::MAX, at(60), 1.0).unwrap();
        assert_eq!((wait.p50, wait.p75), (WaitEstimate::MAX, WaitEstimate::MAX));
    }
}
