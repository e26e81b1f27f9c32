//! The time of a room according to the clock of this machine, by which leases are judged.
//!
//! A lease ends by the clock of the room, which is the clock of its server. If that clock is set
//! back, or if the server stands still for a while, the lease would seem to last longer than the
//! global ledger assumes. So a node also measures by its own clock how much time has passed since
//! the room last showed a time.

use std::time::Duration;

#[cfg(not(any(target_os = "android", target_os = "linux")))]
use std::sync::LazyLock;

use waiting_room_core::{Timestamp, time::Clock};

/// The time since this machine was started, including the time for which it was suspended.
///
/// On systems without such a clock, the time while the machine is suspended is not counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BootClock;

#[cfg(any(target_os = "android", target_os = "linux"))]
impl Clock for BootClock {
    fn now(&self) -> Timestamp {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // The time since the start of a machine is positive.
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
        Timestamp::from_secs(seconds) + Duration::from_nanos(nanos)
    }
}

#[cfg(not(any(target_os = "android", target_os = "linux")))]
impl Clock for BootClock {
    fn now(&self) -> Timestamp {
        static BEGAN: LazyLock<tokio::time::Instant> = LazyLock::new(tokio::time::Instant::now);
        Timestamp::ZERO + BEGAN.elapsed()
    }
}

/// The earliest time that the room must show.
///
/// Of all times that the room has shown lately, the time that was farthest ahead of this machine's
/// clock counts. "Lately" means within the last two to four leases: long enough to notice whatever
/// happens to the server's clock within a lease, and short enough that two clocks that run at
/// slightly different rates hardly drift apart.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    window: Duration,
    /// The beginning of the current window, and the lead of the room in it, in nanoseconds.
    current: Option<(Timestamp, i128)>,
    /// The lead of the room in the last window.
    last: Option<i128>,
}

impl Judge {
    pub(super) fn new(lease: Duration) -> Self {
        Self { window: 2 * lease, current: None, last: None }
    }

    /// Records that the room has shown a time, which was received at `received` by the clock of this
    /// machine.
    pub(super) fn observe(&mut self, room: Timestamp, received: Timestamp) {
        let ahead = i128::from(room.as_nanos()) - i128::from(received.as_nanos());
        self.current = Some(match self.current {
            Some((began, known)) if received.since(began) < self.window => {
                (began, known.max(ahead))
            }
            ended => {
                self.last = ended.map(|(_, known)| known);
                (received, ahead)
            }
        });
    }

    /// The earliest time that the room must show at `now` by the clock of this machine; the start
    /// of time before the room has shown any.
    pub(super) fn at(&self, now: Timestamp) -> Timestamp {
        let ahead = self.current.map(|(_, ahead)| ahead).max(self.last);
        let nanos = ahead.map_or(0, |ahead| ahead + i128::from(now.as_nanos()));
        Timestamp::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(120);
    const ROOM: Timestamp = Timestamp::from_secs(1_700_000_000);
    const BOOT: Timestamp = Timestamp::from_secs(5_000);

    /// A judge that has looked at a room once a second for this long.
    fn watched(seconds: u64) -> Judge {
        let mut judge = Judge::new(LEASE);
        for second in 0..=seconds {
            let passed = Duration::from_secs(second);
            judge.observe(ROOM + passed, BOOT + passed);
        }
        judge
    }

    #[test]
    fn before_a_room_has_shown_a_time_nothing_is_known() {
        assert_eq!(Judge::new(LEASE).at(BOOT), Timestamp::ZERO);
    }

    #[test]
    fn a_clock_that_was_set_back_or_stood_still_is_noticed_for_two_leases() {
        for back in [Duration::from_secs(1), Duration::from_secs(3_600)] {
            let mut judge = watched(1_000);
            for second in 1_000..1_000 + 2 * LEASE.as_secs() {
                let passed = Duration::from_secs(second);
                judge.observe((ROOM + passed).before(back), BOOT + passed);
                assert_eq!(judge.at(BOOT + passed), ROOM + passed, "{back:?} at {second} s");
            }
        }
    }

    #[test]
    fn a_server_that_never_answers_does_not_stop_the_time() {
        let judge = watched(10);
        let later = Duration::from_secs(100_000);
        assert_eq!(judge.at(BOOT + later), ROOM + later);
    }

    #[test]
    fn clocks_that_run_at_different_rates_do_not_drift_apart() {
        // This machine's clock is fast by 100 parts in a million.
        let mut judge = Judge::new(LEASE);
        let mut most = Duration::ZERO;
        for second in 0..200_000 {
            let room = ROOM + Duration::from_secs(second);
            let boot = BOOT + Duration::from_micros(second * 1_000_100);
            judge.observe(room, boot);
            most = most.max(judge.at(boot).since(room));
        }
        assert!(most < Duration::from_millis(50), "{most:?}");
    }

    #[test]
    fn the_clock_of_this_machine_runs() {
        let began = BootClock.now();
        assert!(began > Timestamp::ZERO && BootClock.now() >= began);
    }
}
