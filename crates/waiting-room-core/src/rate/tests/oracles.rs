//! Each algorithm is compared with its definition, an oracle that stores all events and visits all
//! of them for each decision.

mod buckets;
mod windows;

use self::{
    buckets::{Bucket, Departures, Tokens},
    windows::{Numbered, Opened, Weighted, Window},
};
use super::*;

/// The definition of an algorithm, computed from all past events.
trait Oracle {
    /// The amount that is allowed at `now`, in nanoseconds since the Unix epoch.
    fn remaining(&self, now: u64) -> u64;

    /// Records an allowed request.
    fn spend(&mut self, cost: u64, now: u64);

    /// Records a refused request.
    fn refused(&mut self, _cost: u64, _now: u64) {}

    /// The time for which an allowed request is held, in nanoseconds.
    fn delay(&self, _now: u64) -> u64 {
        0
    }
}

proptest! {
    #[test]
    fn gcra_is_a_bucket_that_leaks((quota, steps) in traffic(whole_quotas()), start in starts()) {
        agrees(&Gcra::new(&quota), Bucket::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_token_bucket_is_filled_and_emptied(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        agrees(&TokenBucket::new(&quota), Tokens::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_leaky_queue_is_a_row_of_departures(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        agrees(&LeakyQueue::new(&quota), Departures::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_fixed_window_counts_the_events_of_its_number(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        let meter = FixedWindow::new(&quota, Alignment::Epoch);
        agrees(&meter, Numbered::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_window_from_the_first_hit_opens_after_the_last_one(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        let meter = FixedWindow::new(&quota, Alignment::FirstHit);
        agrees(&meter, Opened::new(&quota), &steps, start)?;
    }

    #[test]
    fn a_sliding_log_counts_the_window_that_ends_now(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        let meter = SlidingLog::new(&quota, Refusals::Ignore);
        agrees(&meter, Window::new(&quota, Refusals::Ignore), &steps, start)?;
    }

    #[test]
    fn a_sliding_log_with_penalty_counts_the_attempts(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        let meter = SlidingLog::new(&quota, Refusals::Count);
        agrees(&meter, Window::new(&quota, Refusals::Count), &steps, start)?;
    }

    #[test]
    fn a_sliding_counter_weighs_the_window_before(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        agrees(&SlidingCounter::new(&quota), Weighted::new(&quota), &steps, start)?;
    }
}

fn agrees<M: Meter>(
    meter: &M,
    mut oracle: impl Oracle,
    steps: &[Step],
    start: Timestamp,
) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    for step in steps {
        now = now + step.gap;
        let nanos = now.as_nanos();
        let allowed = step.cost <= oracle.remaining(nanos);
        // A request with a cost of zero is not queued.
        let delay = if step.cost > 0 { oracle.delay(nanos) } else { 0 };
        let delay = Duration::from_nanos(delay);
        prop_assert_eq!(meter.remaining(&state, now), oracle.remaining(nanos));
        match meter.check(&mut state, step.cost, now) {
            Ok((decision, charge)) => {
                prop_assert!(allowed, "{step:?} at {now:?}");
                prop_assert_eq!(decision.delay, delay);
                prop_assert_eq!((charge.cost, charge.at), (step.cost, now));
                oracle.spend(step.cost, nanos);
            }
            Err(_) => {
                prop_assert!(!allowed, "{step:?} at {now:?}");
                oracle.refused(step.cost, nanos);
            }
        }
        prop_assert_eq!(meter.remaining(&state, now), oracle.remaining(nanos));
    }
    Ok(())
}

/// The time and cost of each charge.
#[derive(Default)]
struct Events(Vec<(u64, u64)>);

impl Events {
    fn add(&mut self, cost: u64, now: u64) {
        self.0.push((now, cost));
    }

    /// The sum of the costs of the charges whose time satisfies `wished`.
    fn sum(&self, wished: impl Fn(u64) -> bool) -> u64 {
        self.0.iter().filter(|(at, _)| wished(*at)).map(|(_, cost)| cost).sum()
    }
}
