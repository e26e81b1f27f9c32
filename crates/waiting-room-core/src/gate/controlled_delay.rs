//! How long somebody may wait under controlled delay.

use std::time::Duration;

/// The longest wait of somebody who comes when the queue has not been empty for `standing`:
/// `max_wait` up to an interval, and the target from one and a half on.
///
/// In between the one becomes the other evenly. If it did so from one instant to the next, a burst
/// that takes hardly longer than an interval would have its end refused. For an overload it makes
/// little difference: a queue that is longer than the target needs its time to shrink anyway.
pub(super) fn longest_wait(
    standing: Duration,
    max_wait: Duration,
    target: Duration,
    interval: Duration,
) -> Duration {
    if standing <= interval {
        return max_wait;
    }
    let over = standing.saturating_sub(interval).as_secs_f64();
    let left = (1.0 - over / (interval.as_secs_f64() / 2.0)).clamp(0.0, 1.0);
    target.min(max_wait) + max_wait.saturating_sub(target).mul_f64(left)
}

#[cfg(all(test, not(waiting_room_loom)))]
mod tests {
    use super::*;
    use crate::{
        Arrival, Discipline, Entry, Gate, GateRules, ManualClock, RefusedBecause, Timestamp,
    };

    const TARGET: Duration = Duration::from_millis(100);
    const INTERVAL: Duration = Duration::from_secs(1);
    const MAX_WAIT: Duration = Duration::from_millis(500);

    #[test]
    fn the_wait_shrinks_from_the_longest_to_the_target_in_half_an_interval() {
        for (standing, longest) in
            [(0, 500), (1_000, 500), (1_125, 400), (1_250, 300), (1_500, 100), (9_000, 100)]
        {
            let wait = longest_wait(Duration::from_millis(standing), MAX_WAIT, TARGET, INTERVAL);
            assert_eq!(wait.as_millis(), longest, "after {standing} ms");
        }
    }

    #[test]
    fn a_target_that_is_longer_than_the_longest_wait_changes_nothing() {
        for standing in [0, 1_200, 9_000] {
            let standing = Duration::from_millis(standing);
            assert_eq!(longest_wait(standing, TARGET, MAX_WAIT, INTERVAL), TARGET);
        }
    }

    fn arrive(gate: &Gate) -> Entry {
        gate.enter(Arrival::default(), gate.now())
    }

    #[test]
    fn who_is_shed_in_the_queue_is_told_when_to_come_back_and_who_timed_out_is_not() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let delay = Discipline::ControlledDelay { target: TARGET, interval: INTERVAL };
        let rules = GateRules::new(1).max_wait(5 * INTERVAL).discipline(delay);
        let gate = Gate::with_clock(rules, 7, clock.clone()).unwrap();
        let Entry::Admitted(_permit) = arrive(&gate) else { panic!("nobody else is here") };
        let Entry::Queued(first) = arrive(&gate) else { panic!("one may wait") };
        clock.advance(3 * INTERVAL);
        let Entry::Queued(second) = arrive(&gate) else { panic!("no rate is known") };
        assert_eq!(second.deadline(), gate.now() + TARGET);

        clock.advance_to(second.deadline());
        let shed = second.time_out().unwrap_err();
        assert_eq!(shed.because, RefusedBecause::Shed);
        assert!(shed.retry_after.is_some());
        clock.advance_to(first.deadline());
        let timed_out = first.time_out().unwrap_err();
        assert_eq!(timed_out.because, RefusedBecause::TimedOut);
        assert_eq!(timed_out.retry_after, None);
        let outcomes = gate.snapshot(gate.now()).outcomes;
        assert_eq!((outcomes.shed, outcomes.timed_out), (1, 1));
    }
}
