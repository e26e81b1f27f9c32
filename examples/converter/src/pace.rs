//! Turns a share of the CPU into a limit on concurrency, and makes conversions keep to it.
//!
//! A conversion keeps one core busy, so on two cores a limit of 1 is half of the CPU and a limit of
//! 2 is all of it; 70 % lies in between. But a permit need not be released as soon as the work is
//! done, because the application holds its handle. So the limit is the next whole number, and each
//! permit rests after its work until its CPU time is no more than its share of the time for which
//! it was held:
//!
//! ```text
//!  2 permits, each of 70 % of a core
//!  ███████████████░░░░░░███████████████░░░░░░██████████
//!  └─ CPU time ──┘└rest┘└─ of the next in the queue ─┘
//! ```
//!
//! The client has its answer before the rest. If something else took the core meanwhile, the time
//! that was lost counts as rest.

use std::time::Duration;

use tokio::{
    task::{JoinError, spawn_blocking},
    time::{Instant, sleep},
};
use tower_waiting_room::gate::PermitHandle;

use crate::cpu;

/// A limit, and the share of a core that each of its permits stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    limit: u32,
    duty: f64,
}

impl Pace {
    /// The pace for `percent` of all cores together.
    pub(crate) fn new(percent: u32, cores: u32) -> Self {
        let hundredths = percent * cores;
        let limit = hundredths.div_ceil(100);
        Self { limit, duty: f64::from(hundredths) / f64::from(100 * limit) }
    }

    /// The pace of permits that never rest.
    pub(crate) const fn restless(limit: u32) -> Self {
        Self { limit, duty: 1.0 }
    }

    /// The number of conversions that may run at once.
    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    /// The time for which a permit has to be held after it was `held` for this time and `worked`
    /// for this CPU time.
    pub(crate) fn rest(&self, worked: Duration, held: Duration) -> Duration {
        worked.div_f64(self.duty).saturating_sub(held)
    }
}

/// A permit, the time since which it is held, and its pace.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) permit: Option<PermitHandle>,
    pub(crate) since: Instant,
    pub(crate) pace: Pace,
}

/// Runs `work` on a thread for blocking tasks.
///
/// The permit moves with the work, which cannot be stopped: when a client disconnects and its
/// response future is dropped, the permit is held for as long as a core is busy.
///
/// # Errors
///
/// The work has panicked.
///
/// # Cancel safety
///
/// The work continues to its end, and its result is dropped.
pub(crate) async fn compute<T: Send + 'static>(
    held: Held,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let compute = move || {
        let Held { permit, since, pace } = held;
        let before = cpu::of_thread();
        let result = work();
        let rest = pace.rest(cpu::of_thread() - before, since.elapsed());
        if permit.is_some() {
            tokio::spawn(async move {
                sleep(rest).await;
                drop(permit);
            });
        }
        result
    };
    spawn_blocking(compute).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn permits_times_their_part_of_a_core_is_the_requested_share() {
        for (percent, cores, limit) in
            [(70, 2, 2), (50, 2, 1), (70, 10, 7), (70, 16, 12), (10, 1, 1), (95, 64, 61)]
        {
            let pace = Pace::new(percent, cores);
            assert_eq!(pace.limit, limit, "{percent} % of {cores}");
            let share = f64::from(limit) * pace.duty / f64::from(cores);
            assert!((share - f64::from(percent) / 100.0).abs() < 1e-9, "{share}");
            assert!(pace.duty <= 1.0);
        }
    }

    #[test]
    fn a_permit_rests_until_its_work_is_its_part_of_the_time() {
        let pace = Pace::new(70, 2);
        assert_eq!(pace.rest(millis(70), millis(70)), millis(30));
        assert_eq!(pace.rest(millis(70), millis(95)), millis(5));
        assert_eq!(pace.rest(millis(70), millis(140)), millis(0));
        assert_eq!(Pace::new(70, 10).rest(millis(70), millis(70)), millis(0));
        assert_eq!(Pace::restless(9).rest(millis(70), millis(70)), millis(0));
    }
}
