//! When those who are refused are to come back.
//!
//! Told how long the queue is, all of a crowd would come back at that time, find it full, and come
//! back again. So each gets a time of its own, at the rate at which the service gets through them:
//! a place in a line that nobody has to stand in.

use std::time::Duration;

use crate::Timestamp;

/// Hands out times to come back.
#[derive(Clone, Debug)]
pub(super) struct RetrySchedule {
    /// The last that was handed out.
    last: Timestamp,
    longest: Duration,
    seed: u64,
}

impl RetrySchedule {
    /// `seed` decides who of two neighbours is told a second more.
    pub(super) const fn new(longest: Duration, seed: u64) -> Self {
        Self { last: Timestamp::ZERO, longest, seed }
    }

    /// In how long the next one is to come back: in whole seconds, as headers have them, and at
    /// least one. So many are `queued` before it, and `per_second` are served.
    pub(super) fn take(&mut self, now: Timestamp, queued: u32, per_second: f64) -> Duration {
        let in_seconds =
            |served: f64| Duration::try_from_secs_f64(served / per_second).unwrap_or(self.longest);
        let free = self.last.max(now + in_seconds(f64::from(queued)).min(self.longest));
        self.last = (free + in_seconds(1.0)).min(now + self.longest);
        let wait = self.last.since(now);
        // Rounded up, and for every other one a second more: at the seconds themselves they would
        // all come at once.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0) + u64::from(self.toss());
        Duration::from_secs(seconds.clamp(1, self.longest.as_secs().max(1)))
    }

    /// The same while it is not known how many are served: soon, and whoever is refused once more
    /// gets a time of its own then.
    pub(super) fn soon(&mut self) -> Duration {
        let seconds = 1 + u64::from(self.toss());
        Duration::from_secs(seconds.min(self.longest.as_secs().max(1)))
    }

    /// Nobody was served out of the queue for so long: the service is ahead of those who were told
    /// to come back, and the next ones come back earlier by as much.
    ///
    /// Who comes back comes up to two seconds late, and chance alone empties the queue many times a
    /// second when as many come as are served. So less than that says nothing: others would be told
    /// the times of those who are still to come.
    pub(super) fn relax(&mut self, idle: Duration) {
        if idle >= LATENESS {
            self.last = self.last.before(idle);
        }
    }

    fn toss(&mut self) -> bool {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.seed >> 63 == 1
    }
}

/// A second by rounding up, and another by the toss.
const LATENESS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);
    const LONGEST: Duration = Duration::from_secs(60);

    #[test]
    fn a_crowd_is_told_to_come_back_at_the_rate_of_the_service() {
        let mut slots = RetrySchedule::new(LONGEST, 7);
        let mut told = [0; 62];
        for _ in 0..1_000 {
            let wait = slots.take(NOW, 100, 50.0);
            told[usize::try_from(wait.as_secs()).unwrap()] += 1;
        }
        // The queue takes two seconds, and 1000 more twenty.
        assert_eq!(told[..3], [0, 0, 0]);
        assert!(told[4..22].iter().all(|count| (35..65).contains(count)), "{told:?}");
        assert_eq!(told[24..].iter().sum::<i32>(), 0);
    }

    #[test]
    fn nobody_is_told_to_come_back_later_than_the_longest_time_or_sooner_than_a_second() {
        let mut slots = RetrySchedule::new(LONGEST, 7);
        for per_second in [1e-300, 1e300, f64::INFINITY] {
            for _ in 0..100 {
                let wait = slots.take(NOW, 524_287, per_second);
                assert!((Duration::from_secs(1)..=LONGEST).contains(&wait), "{wait:?}");
            }
        }
    }

    #[test]
    fn the_times_become_shorter_by_the_time_in_which_nobody_waits() {
        let after = |idle, times| {
            let mut slots = RetrySchedule::new(LONGEST, 7);
            (0..1_000).for_each(|_| _ = slots.take(NOW, 0, 50.0));
            (0..times).for_each(|_| slots.relax(idle));
            slots.take(NOW, 0, 50.0).as_secs()
        };
        // The thousand before it take twenty seconds.
        assert!((21..=22).contains(&after(Duration::from_secs(1), 1_000)));
        assert!((16..=17).contains(&after(Duration::from_secs(5), 1)));
        assert!((1..=2).contains(&after(Duration::from_secs(5), 5)));
    }

    #[test]
    fn without_a_rate_all_come_back_soon_and_nobody_is_put_off_for_them() {
        let mut slots = RetrySchedule::new(LONGEST, 7);
        assert!((0..1_000).all(|_| (1..=2).contains(&slots.soon().as_secs())));
        assert!(slots.take(NOW, 0, 50.0) <= Duration::from_secs(2));
        let mut slots = RetrySchedule::new(Duration::from_secs(1), 7);
        assert!((0..100).all(|_| slots.soon() == Duration::from_secs(1)));
    }
}
