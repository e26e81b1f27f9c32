//! The pace of the service behind a gate: how many requests it serves in a second while some wait,
//! and how long one of them runs.

use std::{mem, time::Duration};

use crate::Timestamp;

/// The rate of releases while the queue was not empty, over the last ten seconds or so of that, or
/// the last sixteen releases, if they took longer. Where there is no queue, as many as may run by
/// how long they do.
///
/// Time in which nobody waits does not count: what is measured is what the service can do, not
/// what is asked of it. So it is right with streams too, of which the average hold says little.
#[derive(Clone, Debug)]
pub(super) struct ServiceRate {
    /// Both fade together, so that neither an hour ago nor a single release says much.
    served: f64,
    seconds: f64,
    last: Timestamp,
}

/// The median of the last holds of those who left while somebody waited.
///
/// Not the mean, which by Little's law would be known already: among calls of a tenth of a second a
/// few streams of a minute make it seconds, and no call with a deadline would be let into the queue.
#[derive(Clone, Debug)]
pub(super) struct HoldEstimate {
    /// The oldest is replaced by the next.
    last: [Duration; HOLDS],
    count: usize,
}

impl ServiceRate {
    pub(super) const fn new() -> Self {
        Self { served: 0.0, seconds: 0.0, last: Timestamp::ZERO }
    }

    /// Somebody waits from now on, and nobody did before; says for how long nobody was served
    /// who had waited.
    pub(super) fn resume(&mut self, now: Timestamp) -> Duration {
        now.since(mem::replace(&mut self.last, now))
    }

    /// One is released, while somebody waits.
    pub(super) fn served(&mut self, now: Timestamp) {
        self.served += 1.0;
        self.waited(now);
    }

    /// One is released where nobody can wait, of so many that ran: by Little's law the service
    /// took that share of its time for it.
    pub(super) fn ran(&mut self, hold: Duration, in_flight: u32) {
        self.served += 1.0;
        self.seconds += hold.as_secs_f64() / f64::from(in_flight.max(1));
        self.fade();
    }

    /// Somebody has waited until now.
    pub(super) fn waited(&mut self, now: Timestamp) {
        self.seconds += now.since(self.last).as_secs_f64();
        self.last = now;
        self.fade();
    }

    /// The rate by the second, once enough is known.
    pub(super) fn per_second(&self) -> Option<f64> {
        (self.served >= ENOUGH_RELEASES && self.seconds > 0.0).then(|| self.served / self.seconds)
    }

    /// Keeps as much as is remembered: whichever of the two bounds lasts longer. How often somebody
    /// leaves is neither of them, or those who wait in vain would have a slow service forgotten.
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

    /// One has run for so long.
    pub(super) fn ran(&mut self, hold: Duration) {
        self.last[self.count % HOLDS] = hold;
        self.count = self.count.wrapping_add(1);
    }

    /// The median, once enough is known.
    pub(super) fn median(&self) -> Option<Duration> {
        let mut sorted = self.last;
        let known = &mut sorted[..self.count.min(HOLDS)];
        let middle = known.len() / 2;
        (known.len() >= ENOUGH_HOLDS).then(|| *known.select_nth_unstable(middle).1)
    }
}

/// What is older than this counts little.
const MEMORY: Duration = Duration::from_secs(10);

/// So many releases count however long ago they were, or a slow service would never be known.
const RELEASES: f64 = 16.0;

/// From fewer releases nothing is concluded.
const ENOUGH_RELEASES: f64 = 8.0;

/// How many holds are remembered: few, so that a change is soon known.
const HOLDS: usize = 15;

/// From fewer nothing is concluded.
const ENOUGH_HOLDS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(now: &mut Timestamp, millis: u64) -> Timestamp {
        *now = *now + Duration::from_millis(millis);
        *now
    }

    #[test]
    fn the_rate_is_that_of_the_time_in_which_somebody_waits() {
        let (mut rate, mut now) = (ServiceRate::new(), Timestamp::from_secs(1_000));
        assert_eq!(rate.per_second(), None);
        for _ in 0..50 {
            // An hour without a queue, then 200 ms with one.
            rate.resume(after(&mut now, 3_600_000));
            (0..10).for_each(|_| rate.served(after(&mut now, 20)));
        }
        let rate = rate.per_second().unwrap();
        assert!((49.0..51.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_change_of_the_rate_is_known_after_some_ten_seconds() {
        let (mut rate, mut now) = (ServiceRate::new(), Timestamp::from_secs(1_000));
        rate.resume(now);
        (0..10_000).for_each(|_| rate.served(after(&mut now, 10)));
        (0..200).for_each(|_| rate.served(after(&mut now, 100)));
        let rate = rate.per_second().unwrap();
        assert!((10.0..25.0).contains(&rate), "{rate}");
    }

    #[test]
    fn sixteen_releases_count_however_often_somebody_leaves_in_between() {
        let (mut rate, mut now) = (ServiceRate::new(), Timestamp::from_secs(1_000));
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
        let (mut rate, mut now) = (ServiceRate::new(), Timestamp::from_secs(1_000));
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
    fn it_is_the_middle_one_of_the_last_fifteen() {
        assert_eq!(median(0..7), None);
        assert_eq!(median((0..9).rev()), Some(4));
        assert_eq!(median(0..100), Some(92));
    }

    #[test]
    fn streams_among_calls_do_not_move_it() {
        assert_eq!(median((0..100).map(|it| if it % 3 == 0 { 60_000 } else { 20 })), Some(20));
    }
}
