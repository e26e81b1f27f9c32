//! One time for the room and for tokio's timers.

use std::time::Duration;

use tokio::{
    runtime::Builder,
    time::{Instant, sleep, sleep_until},
};
use waiting_room_core::{Timestamp, time::Clock};

/// A clock that shows the virtual time of a tokio runtime whose time is paused.
///
/// Pass a copy to the layer or to its store. Since there is only one time, a timer that fires after
/// 5 s (of a gate's queue, or of a handler) and a room that counts 5 s always agree. Time passes
/// only while every task waits, and then it jumps to the next timer.
///
/// All copies show the same time. A test begins at [`START`](Self::START).
///
/// ```
/// use std::time::Duration;
/// use waiting_room_core::time::Clock;
/// use waiting_room_test::TestClock;
///
/// waiting_room_test::run(async |clock: TestClock| {
///     let timer = tokio::time::sleep(Duration::from_secs(3_600));
///     clock.pass(Duration::from_secs(3_599)).await;
///     assert_eq!(clock.now(), TestClock::START + Duration::from_secs(3_599));
///     timer.await;
///     assert_eq!(clock.now(), TestClock::START + Duration::from_secs(3_600));
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TestClock {
    /// The virtual time of tokio at which this clock showed [`START`](Self::START).
    started: Instant,
}

impl TestClock {
    /// The time at which each clock starts, in the year 2023.
    pub const START: Timestamp = Timestamp::from_secs(1_700_000_000);

    /// Creates a clock that shows [`START`](Self::START), in a test with
    /// `#[tokio::test(start_paused = true)]`. In a test without a runtime, use [`run`].
    ///
    /// # Panics
    ///
    /// Panics if the time of tokio is not paused, because the test would then wait in real time.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        let started = Instant::now();
        // tokio does not tell whether its time is paused, but a time that is not paused moves on.
        let stands_still = (0..READINGS).all(|_| Instant::now() == started);
        assert!(
            stands_still,
            "the time of tokio is not paused: use waiting_room_test::run, or \
             #[tokio::test(start_paused = true)]"
        );
        Self { started }
    }

    /// Lets time pass. All timers that are due meanwhile fire, each at its time.
    ///
    /// Tokio's timers count whole milliseconds, so a fraction of a millisecond is rounded up.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only means that this task no longer waits.
    pub async fn pass(&self, duration: Duration) {
        sleep(duration).await;
    }

    /// Lets time pass until the clock shows `at`. Returns at once if `at` has passed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only means that this task no longer waits.
    pub async fn pass_until(&self, at: Timestamp) {
        sleep_until(self.started + at.since(Self::START)).await;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Self::START + self.started.elapsed()
    }
}

impl Default for TestClock {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// Runs a test in virtual time, on a tokio runtime of one thread whose time is paused.
///
/// ```
/// use std::time::Duration;
///
/// waiting_room_test::run(async |clock| {
///     // A day passes at once.
///     clock.pass(Duration::from_secs(86_400)).await;
/// });
/// ```
///
/// # Panics
///
/// Panics if it is called inside of a runtime, or if the test panics.
pub fn run<T>(test: impl AsyncFnOnce(TestClock) -> T) -> T {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    let runtime = runtime.expect("the system has the resources for a runtime");
    runtime.block_on(async { test(TestClock::new()).await })
}

/// The number of clock readings. The readings take microseconds, so a real clock moves meanwhile.
const READINGS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_at_their_time_while_time_passes() {
        run(async |clock: TestClock| {
            let timer = tokio::spawn(async move {
                clock.pass(Duration::from_secs(7)).await;
                clock.now()
            });
            clock.pass(Duration::from_secs(60)).await;
            assert_eq!(timer.await.unwrap(), TestClock::START + Duration::from_secs(7));
            assert_eq!(clock.now(), TestClock::START + Duration::from_secs(60));
            clock.pass_until(TestClock::START).await;
            assert_eq!(clock.now(), TestClock::START + Duration::from_secs(60));
        });
    }

    #[tokio::test]
    #[should_panic(expected = "the time of tokio is not paused: use waiting_room_test::run")]
    async fn a_time_that_is_not_paused_is_refused() {
        let _ = TestClock::new();
    }
}
