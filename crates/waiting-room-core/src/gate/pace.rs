//! The pace of the service behind a gate: the number of requests served per second, and the typical
//! run time.
//!
//! Both estimates are based on releases that happen while other requests are waiting. The estimates
//! determine whether an arriving request can be served in time, and when refused clients are asked
//! to come back. An estimate is unknown until enough releases have been observed. While an estimate
//! is unknown, no request is refused because of it.

use std::{mem, time::Duration};

use crate::Timestamp;

/// The service rate, measured as the rate of releases while the queue is not empty.
///
/// The rate covers about the last ten seconds during which requests were waiting, or the last
/// sixteen releases if those took longer. For a gate without a queue, the rate is the number of
/// running requests divided by their run time, by Little's law.
///
/// Time without waiting requests does not count, because the rate measures the capacity of the
/// service rather than the demand. The rate is also correct for services with long streams, for
/// which a mean run time would not be meaningful.
#[derive(Clone, Debug)]
pub(super) struct ServiceRate {
    /// The weighted number of releases: older releases gradually lose weight. This sum and
    /// `seconds` are reduced by the same factor, so their ratio remains the rate.
    served: f64,
    /// The time over which the releases were counted, in seconds. Like older releases, older time
    /// gradually loses weight.
    seconds: f64,
    /// The time up to which `seconds` has been counted.
    last: Timestamp,
}

/// The median run time of the most recent requests that ended while others were waiting.
///
/// A mean would be misleading. Among calls of a tenth of a second, a few one-minute streams would
/// raise the mean to several seconds, and then no call with a short deadline would be queued.
#[derive(Clone, Debug)]
pub(super) struct HoldEstimate {
    /// A ring buffer of run times, in which each new run time replaces the oldest.
    last: [Duration; HOLDS],
    /// The number of run times recorded so far.
    count: usize,
}

impl ServiceRate {
    pub(super) const fn new() -> Self {
        Self { served: 0.0, seconds: 0.0, last: Timestamp::ZERO }
    }

    /// Starts measuring time when a request joins an empty queue.
    ///
    /// Returns the time since the queue was last known to be non-empty.
    pub(super) fn resume(&mut self, now: Timestamp) -> Duration {
        now.since(mem::replace(&mut self.last, now))
    }

    /// Records a release that happened while requests were waiting.
    pub(super) fn served(&mut self, now: Timestamp) {
        self.served += 1.0;
        self.waited(now);
    }

    /// Records a release at a gate without a queue. The released request ran for `hold`, and
    /// `in_flight` requests were running at the time of the release.
    ///
    /// By Little's law, the service completes one request every `hold / in_flight` on average.
    pub(super) fn ran(&mut self, hold: Duration, in_flight: u32) {
        self.served += 1.0;
        self.seconds += hold.as_secs_f64() / f64::from(in_flight.max(1));
        self.fade();
    }

    /// Counts the time until `now` as time during which requests were waiting.
    pub(super) fn waited(&mut self, now: Timestamp) {
        self.seconds += now.since(self.last).as_secs_f64();
        self.last = now;
        self.fade();
    }

    /// Returns the rate in requests per second, or `None` until enough releases have been observed.
    pub(super) fn per_second(&self) -> Option<f64> {
        (self.served >= ENOUGH_RELEASES && self.seconds > 0.0).then(|| self.served / self.seconds)
    }

    /// Scales both sums down to the span that the estimate covers: ten seconds or sixteen releases,
    /// whichever is longer.
    ///
    /// The scaling depends on time and releases rather than on the number of calls. This method is
    /// also called when a waiting request gives up. If each of these calls reduced the sums,
    /// impatient clients would erase the measurements of a slow service.
    fn fade(&mut self) {
        let kept = (MEMORY.as_secs_f64() / self.seconds).max(RELEASES / self.served).min(1.0);
        self.served *= kept;
        self.seconds *= kept;
    }
}

impl HoldEstimate {
    pub(super) const fn new() -> Self {
        Self { last: [Duration::ZERO; HOLDS], count: 0 }
    }

    /// Records the run time of a request that has ended.
    pub(super) fn ran(&mut self, hold: Duration) {
        self.last[self.count % HOLDS] = hold;
        self.count = self.count.wrapping_add(1);
    }

    /// Returns the median run time, or `None` until enough requests have ended.
    pub(super) fn median(&self) -> Option<Duration> {
        let mut sorted = self.last;
        let known = &mut sorted[..self.count.min(HOLDS)];
        let middle = known.len() / 2;
        (known.len() >= ENOUGH_HOLDS).then(|| *known.select_nth_unstable(middle).1)
    }
}

/// The time over which the rate is measured. Older releases have little weight.
const MEMORY: Duration = Duration::from_secs(10);

/// The number of recent releases that count regardless of their age. Otherwise, a service that
/// takes longer than `MEMORY` for a few releases would never have a measured rate.
const RELEASES: f64 = 16.0;

/// The minimum number of releases from which a rate is computed.
const ENOUGH_RELEASES: f64 = 8.0;

/// The number of run times that are stored. With a small number, the median reacts quickly to a
/// change.
const HOLDS: usize = 15;

/// The minimum number of run times from which a median is computed.
const ENOUGH_HOLDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(now: &mut Timestamp, millis: u64) -> Timestamp {
        *now = *now + Duration::from_millis(millis);
        *now
    }

    #[test]
    fn the_rate_is_measured_only_while_requests_wait() {
        let mut rate = ServiceRate::new();
        let mut now = Timestamp::from_secs(1_000);
        assert_eq!(rate.per_second(), None);
        for _ in 0..50 {
            // An hour without a queue is followed by 200 ms with a queue.
            rate.resume(after(&mut now, 3_600_000));
            (0..10).for_each(|_| rate.served(after(&mut now, 20)));
        }
        let rate = rate.per_second().unwrap();
        assert!((49.0..51.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_change_of_the_rate_is_known_after_some_ten_seconds() {
        let mut rate = ServiceRate::new();
        let mut now = Timestamp::from_secs(1_000);
        rate.resume(now);
        (0..10_000).for_each(|_| rate.served(after(&mut now, 10)));
        (0..200).for_each(|_| rate.served(after(&mut now, 100)));
        let rate = rate.per_second().unwrap();
        assert!((10.0..25.0).contains(&rate), "{rate}");
    }

    #[test]
    fn sixteen_releases_count_despite_waiters_that_leave_in_between() {
        let mut rate = ServiceRate::new();
        let mut now = Timestamp::from_secs(1_000);
        rate.resume(now);
        for _ in 0..16 {
            (0..1_000).for_each(|_| rate.waited(after(&mut now, 20)));
            rate.served(now);
        }
        let rate = rate.per_second().unwrap();
        assert!((0.049..0.051).contains(&rate), "{rate}");
    }

    #[test]
    fn an_hour_without_a_release_is_forgotten_like_any_other_time() {
        let mut rate = ServiceRate::new();
        let mut now = Timestamp::from_secs(1_000);
        rate.resume(now);
        (0..1_000).for_each(|_| rate.served(after(&mut now, 10)));
        rate.waited(after(&mut now, 3_600_000));
        assert!(rate.per_second().unwrap() < 10.0);
        (0..5_000).for_each(|_| rate.served(after(&mut now, 10)));
        let rate = rate.per_second().unwrap();
        assert!((95.0..105.0).contains(&rate), "{rate}");
    }

    #[test]
    fn releases_at_one_instant_are_no_rate() {
        let mut rate = ServiceRate::new();
        (0..100).for_each(|_| rate.served(Timestamp::ZERO));
        assert_eq!(rate.per_second(), None);
    }

    fn median(millis: impl IntoIterator<Item = u64>) -> Option<u128> {
        let mut typical = HoldEstimate::new();
        millis.into_iter().for_each(|millis| typical.ran(Duration::from_millis(millis)));
        typical.median().map(|median| median.as_millis())
    }

    #[test]
    fn the_typical_hold_is_the_median_of_the_last_fifteen() {
        assert_eq!(median(0..7), None);
        assert_eq!(median((0..9).rev()), Some(4));
        assert_eq!(median(0..100), Some(92));
    }

    #[test]
    fn streams_among_calls_do_not_move_the_median() {
        assert_eq!(
            median((0..100).map(|number| if number % 3 == 0 { 60_000 } else { 20 })),
            Some(20)
        );
    }
}
