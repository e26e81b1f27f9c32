//! The deadline of an arriving request, and the estimate of whether the request can be served in
//! time.
//!
//! A request that cannot be served in time is refused on arrival. In the queue, the request would
//! only take up space, and its client would learn about the refusal later than necessary. The
//! deadline and the refusal are based on the measured run time and the measured service rate.

use std::time::Duration;

use super::{
    arrival::{Arrival, RefusedBecause},
    locked::Locked,
    rules::Discipline,
};
use crate::Timestamp;

impl Locked<'_> {
    /// Returns the deadline of an arriving request, and the reason for refusing the request after
    /// that deadline.
    ///
    /// The deadline is either the time set by the gate's rules, or the client's own deadline minus
    /// the typical run time, whichever is earlier.
    pub(super) fn deadline(&self, arrival: &Arrival) -> (Timestamp, RefusedBecause) {
        let max_wait = self.shared.rules.max_wait;
        let (wait, because) = match &self.shared.rules.discipline {
            Discipline::ControlledDelay { target, interval } => {
                let wait = longest_wait(self.standing(), max_wait, *target, *interval);
                let is_cut = wait < max_wait;
                (wait, if is_cut { RefusedBecause::Shed } else { RefusedBecause::TimedOut })
            }
            Discipline::AdaptiveLifo { .. }
            | Discipline::FairByTenant(_)
            | Discipline::Fifo
            | Discipline::Priority { .. } => (max_wait, RefusedBecause::TimedOut),
        };
        let own = self.now + wait;
        // The request has to be finished by the client's deadline, so a permit that leaves too
        // little time to run is useless.
        let clients = arrival.deadline.map(|deadline| deadline.before(self.typical_hold()));
        match clients {
            Some(clients) if clients <= own => (clients, RefusedBecause::TimedOut),
            _ => (own, because),
        }
    }

    /// Returns the expected run time of an arriving request, or zero if no estimate applies to the
    /// request.
    fn typical_hold(&self) -> Duration {
        let hold = if self.is_first() { None } else { self.state.typical_hold.median() };
        hold.unwrap_or_default()
    }

    /// Returns whether a request that joins `lane` now cannot be served by its deadline.
    ///
    /// The number of requests ahead is a lower bound, so a request is refused only if it would be
    /// late even in the best case.
    pub(super) fn is_hopeless(&self, lane: u64, deadline: Timestamp) -> bool {
        let Some(rate) = self.rate() else { return self.now > deadline };
        let ahead = self.state.line.ahead(lane, self.is_standing());
        #[expect(clippy::cast_precision_loss, reason = "a queue has fewer than 2^19 requests")]
        let wait = (ahead + 1) as f64 / rate;
        let left = deadline.since(self.now).as_secs_f64();
        // A difference of less than a nanosecond is a rounding error, because timestamps have a
        // resolution of one nanosecond.
        self.now > deadline || wait - left > 1e-9
    }

    /// Returns the service rate for estimating the wait of an arriving request, or `None` if no
    /// estimate applies to the request.
    fn rate(&self) -> Option<f64> {
        if self.is_first() { None } else { self.state.rate.per_second() }
    }

    /// Returns whether an arriving request would be the first to wait. No estimate is applied to
    /// the first request.
    ///
    /// The estimates are updated only while requests are waiting. If estimates from a period of
    /// overload could cause the first request to be refused, no request would ever wait again, and
    /// the estimates would never be corrected.
    fn is_first(&self) -> bool {
        self.state.queued == 0
    }

    /// Returns whether the queue has been non-empty for so long that adaptive LIFO serves the
    /// newest request first.
    pub(super) fn is_standing(&self) -> bool {
        matches!(&self.shared.rules.discipline,
            Discipline::AdaptiveLifo { interval } if self.standing() > *interval)
    }

    /// Returns the time since the queue was last empty, or zero if the queue is empty now.
    fn standing(&self) -> Duration {
        match self.state.queued {
            0 => Duration::ZERO,
            _ => self.now.since(self.state.last_empty),
        }
    }
}

/// Returns the longest wait that controlled delay allows once the queue has been non-empty for
/// `standing`.
///
/// ```text
/// longest wait
///   max_wait ├────────────┐
///            │             ╲
///     target │              └───────────
///            └────────────┼──┼──────────► standing
///                   interval  1.5 intervals
/// ```
///
/// The longest wait decreases linearly over half an interval. A sudden step would cause the last
/// requests of a burst to be refused if the burst lasts slightly longer than an interval. Under
/// overload, the gradual decrease makes little difference, because a queue with waits longer than
/// the target takes time to shrink anyway.
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
        Gate,
        gate::{Entry, GateRules},
        time::ManualClock,
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
    fn a_shed_request_gets_a_retry_time_and_a_timed_out_one_does_not() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let delay = Discipline::ControlledDelay { target: TARGET, interval: INTERVAL };
        let rules = GateRules::new(1).max_wait(5 * INTERVAL).discipline(delay);
        let gate = Gate::with_clock(rules, 7, clock.clone()).unwrap();
        let Entry::Admitted(_permit) = arrive(&gate) else { panic!("not admitted") };
        let Entry::Queued(first) = arrive(&gate) else { panic!("not queued") };
        clock.advance(3 * INTERVAL);
        let Entry::Queued(second) = arrive(&gate) else { panic!("not queued") };
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
