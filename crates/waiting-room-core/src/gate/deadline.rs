//! How long a request that comes may wait in the queue, and whether it would wait in vain.

use std::time::Duration;

use super::{
    arrival::{Arrival, RefusedBecause},
    locked::Locked,
    rules::Discipline,
};
use crate::Timestamp;

impl Locked<'_> {
    /// Until when somebody who comes now may wait, and what it is told then.
    pub(super) fn deadline(&self, arrival: &Arrival) -> (Timestamp, RefusedBecause) {
        let max_wait = self.shared.rules.max_wait;
        let (wait, because) = match &self.shared.rules.discipline {
            Discipline::ControlledDelay { target, interval } => {
                let wait = longest_wait(self.standing(), max_wait, *target, *interval);
                let is_cut = wait < max_wait;
                (wait, if is_cut { RefusedBecause::Shed } else { RefusedBecause::TimedOut })
            }
            _ => (max_wait, RefusedBecause::TimedOut),
        };
        let own = self.now + wait;
        // A client that gives up then has no use for a permit that comes with no time left to run.
        let clients = arrival.deadline.map(|deadline| deadline.before(self.typical_hold()));
        match clients {
            Some(clients) if clients <= own => (clients, RefusedBecause::TimedOut),
            _ => (own, because),
        }
    }

    /// How long requests run, as far as somebody who comes is judged by it.
    fn typical_hold(&self) -> Duration {
        let hold = if self.is_first() { None } else { self.state.typical_hold.median() };
        hold.unwrap_or_default()
    }

    /// Whether somebody who joins a lane now cannot be served in time.
    pub(super) fn is_hopeless(&self, lane: u64, deadline: Timestamp) -> bool {
        let Some(rate) = self.rate() else { return self.now > deadline };
        let ahead = self.state.line.ahead(lane, self.is_standing());
        #[expect(clippy::cast_precision_loss, reason = "an estimate, of half a million at most")]
        let wait = (ahead + 1) as f64 / rate;
        let left = deadline.since(self.now).as_secs_f64();
        // Less than a nanosecond more is but rounding.
        self.now > deadline || wait - left > 1e-9
    }

    /// The rate by which somebody who comes is judged.
    fn rate(&self) -> Option<f64> {
        if self.is_first() { None } else { self.state.rate.per_second() }
    }

    /// Whether somebody who comes finds the queue empty, and is not judged by what was before: it is
    /// from those who wait that the gate learns, and a bad hour would keep all of them away.
    fn is_first(&self) -> bool {
        self.state.queued == 0
    }

    /// Whether the queue has not been empty for so long that it turns round.
    pub(super) fn is_standing(&self) -> bool {
        match &self.shared.rules.discipline {
            Discipline::AdaptiveLifo { interval } => self.standing() > *interval,
            _ => false,
        }
    }

    /// For how long the queue has not been empty.
    fn standing(&self) -> Duration {
        match self.state.queued {
            0 => Duration::ZERO,
            _ => self.now.since(self.state.last_empty),
        }
    }
}

/// The longest wait under controlled delay, where the queue has not been empty for `standing`:
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
    use crate::{Entry, Gate, GateRules, ManualClock};

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
