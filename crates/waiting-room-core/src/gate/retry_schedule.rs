//! The times at which refused clients are asked to come back.
//!
//! If all clients in a crowd were asked to come back once the current queue has been served, they
//! would come back at the same time, find the queue full, and be refused again. Therefore, each
//! client gets its own time, and the times are spaced at the rate at which the service completes
//! requests.
//!
//! ```text
//!  now      end of the queue          last time that was given out
//!   ├──────────────┼──────┼──────┼──────┼──────►
//!                    one refused client per 1/rate, up to the longest time
//! ```
//!
//! A time in the schedule does not reserve a permit. A client that comes back may find the gate
//! full again, and a client that does not come back leaves a gap in the schedule.

use std::time::Duration;

use crate::Timestamp;

/// The schedule of the times at which refused clients should come back.
#[derive(Clone, Debug)]
pub(super) struct RetrySchedule {
    /// The time that was most recently assigned to a client, before rounding.
    last: Timestamp,
    /// The longest time after which a client is asked to come back.
    longest: Duration,
    /// The state of the random number generator that selects the clients that get an extra second.
    seed: u64,
}

impl RetrySchedule {
    /// Creates an empty schedule. The `seed` determines which clients get an extra second.
    pub(super) const fn new(longest: Duration, seed: u64) -> Self {
        Self { last: Timestamp::ZERO, longest, seed }
    }

    /// Assigns the next time in the schedule to a client, and returns the wait until that time.
    ///
    /// `queued` requests are already waiting, and the service completes `per_second` requests per
    /// second. The result is at least one second and, as in a `Retry-After` header (RFC 9110
    /// section 10.2.3), a whole number of seconds.
    pub(super) fn take(&mut self, now: Timestamp, queued: u32, per_second: f64) -> Duration {
        let in_seconds =
            |served: f64| Duration::try_from_secs_f64(served / per_second).unwrap_or(self.longest);
        // The next client should come back after the queue has been served, and after all clients
        // that already have a time.
        let free = self.last.max(now + in_seconds(f64::from(queued)).min(self.longest));
        self.last = (free + in_seconds(1.0)).min(now + self.longest);
        let wait = self.last.since(now);
        // The wait is rounded up, and about half of the clients get an extra second. If the wait
        // were only rounded up, all clients whose times are within the same second would come back
        // at the same instant.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0) + u64::from(self.toss());
        Duration::from_secs(seconds.clamp(1, self.longest.as_secs().max(1)))
    }

    /// Returns a wait of one or two seconds, for use while the service rate is unknown.
    ///
    /// A client that comes back and is refused again gets its own time once the rate is known.
    pub(super) fn soon(&mut self) -> Duration {
        let seconds = 1 + u64::from(self.toss());
        Duration::from_secs(seconds.min(self.longest.as_secs().max(1)))
    }

    /// Brings the schedule forward after the queue has been empty for `idle`. The service is then
    /// ahead of the schedule by this duration, so the next clients may come back that much earlier.
    ///
    /// Idle times of less than two seconds are ignored. Clients come back up to two seconds after
    /// their scheduled times, and even at full load the queue is often empty for a short moment. If
    /// these moments counted, new clients would be given the times of clients that have yet to come
    /// back.
    pub(super) fn relax(&mut self, idle: Duration) {
        if idle >= LATENESS {
            self.last = self.last.before(idle);
        }
    }

    /// Returns a random bit: the top bit of a linear congruential generator with Knuth's
    /// multiplier.
    fn toss(&mut self) -> bool {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.seed >> 63 == 1
    }
}

/// The maximum time between a client's scheduled time and its return. Rounding up adds up to one
/// second, and the random extra second adds another.
const LATENESS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);
    const LONGEST: Duration = Duration::from_secs(60);

    #[test]
    fn the_retry_times_of_a_crowd_follow_the_rate_of_the_service() {
        let mut slots = RetrySchedule::new(LONGEST, 7);
        let mut told = [0; 62];
        for _ in 0..1_000 {
            let wait = slots.take(NOW, 100, 50.0);
            told[usize::try_from(wait.as_secs()).unwrap()] += 1;
        }
        // Serving the queue takes two seconds, and serving 1000 more clients takes another twenty
        // seconds.
        assert_eq!(told[..3], [0, 0, 0]);
        assert!(told[4..22].iter().all(|count| (35..65).contains(count)), "{told:?}");
        assert_eq!(told[24..].iter().sum::<i32>(), 0);
    }

    #[test]
    fn retry_times_are_between_a_second_and_the_longest_time() {
        let mut slots = RetrySchedule::new(LONGEST, 7);
        for per_second in [1e-300, 1e300, f64::INFINITY] {
            for _ in 0..100 {
                let wait = slots.take(NOW, 524_287, per_second);
                assert!((Duration::from_secs(1)..=LONGEST).contains(&wait), "{wait:?}");
            }
        }
    }

    #[test]
    fn retry_times_shrink_by_the_time_without_waiters() {
        let after = |idle, times| {
            let mut slots = RetrySchedule::new(LONGEST, 7);
            (0..1_000).for_each(|_| _ = slots.take(NOW, 0, 50.0));
            (0..times).for_each(|_| slots.relax(idle));
            slots.take(NOW, 0, 50.0).as_secs()
        };
        // Serving the thousand clients with earlier times takes twenty seconds.
        assert!((21..=22).contains(&after(Duration::from_secs(1), 1_000)));
        assert!((16..=17).contains(&after(Duration::from_secs(5), 1)));
        assert!((1..=2).contains(&after(Duration::from_secs(5), 5)));
    }

    #[test]
    fn without_a_rate_all_return_soon_and_delay_no_others() {
        let mut slots = RetrySchedule::new(LONGEST, 7);
        let told: Vec<_> = (0..1_000).map(|_| slots.soon().as_secs()).collect();
        assert!(told.iter().all(|secs| (1..=2).contains(secs)));
        let soonest = told.iter().filter(|secs| **secs == 1).count();
        assert!((400..600).contains(&soonest), "{soonest} of 1000 are a second earlier");
        assert!(slots.take(NOW, 0, 50.0) <= Duration::from_secs(2));
        let mut slots = RetrySchedule::new(Duration::from_secs(1), 7);
        assert!((0..100).all(|_| slots.soon() == Duration::from_secs(1)));
    }
}
