//! Quota changes for a key that is in use.

use super::*;

/// Calls `law(&from, &to, …)` for each algorithm, with one meter for each of the two quotas.
macro_rules! holds_for_changes {
    ($law:ident, $from:expr, $to:expr $(, $argument:expr)*) => {{
        let from: &Quota = $from;
        let to: &Quota = $to;
        $law(&Gcra::new(from), &Gcra::new(to) $(, $argument)*)?;
        $law(&TokenBucket::new(from), &TokenBucket::new(to) $(, $argument)*)?;
        $law(&LeakyQueue::new(from), &LeakyQueue::new(to) $(, $argument)*)?;
        for a in [Alignment::Epoch, Alignment::FirstHit] {
            for b in [Alignment::Epoch, Alignment::FirstHit] {
                $law(&FixedWindow::new(from, a), &FixedWindow::new(to, b) $(, $argument)*)?;
            }
        }
        for a in [Refusals::Count, Refusals::Ignore] {
            for b in [Refusals::Count, Refusals::Ignore] {
                $law(&SlidingLog::new(from, a), &SlidingLog::new(to, b) $(, $argument)*)?;
            }
        }
        $law(&SlidingCounter::new(from), &SlidingCounter::new(to) $(, $argument)*)?;
    }};
}

proptest! {
    #[test]
    fn no_wait_exceeds_the_longest_one_of_the_new_quota(
        (from, steps) in traffic(quotas()),
        to in quotas(),
        start in starts(),
        debt in 0u64..30,
    ) {
        holds_for_changes!(forgives_in_time, &from, &to, &steps, start, debt);
    }

    #[test]
    fn used_units_stay_used_under_another_limit(
        (from, steps) in traffic(quotas()),
        limit in 1u64..20,
        start in starts(),
    ) {
        let from = Quota::new(from.limit(), from.window());
        let to = Quota::new(limit, from.window());
        for alignment in [Alignment::Epoch, Alignment::FirstHit] {
            let from = FixedWindow::new(&from, alignment);
            let to = FixedWindow::new(&to, alignment);
            keeps_the_count(&from, &to, &steps, start)?;
        }
        let log = SlidingLog::new(&from, Refusals::Ignore);
        let new = SlidingLog::new(&to, Refusals::Ignore);
        keeps_the_count(&log, &new, &steps, start)?;
        keeps_the_count(&SlidingCounter::new(&from), &SlidingCounter::new(&to), &steps, start)?;
    }

    #[test]
    fn the_same_quota_again_changes_nothing((quota, steps) in traffic(quotas()), start in starts()) {
        holds_for_all!(is_not_changed, &quota, &steps, start);
    }
}

fn forgives_in_time<M: Meter>(
    from: &M,
    to: &M,
    steps: &[Step],
    start: Timestamp,
    debt: u64,
) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    for step in steps {
        now = now + step.gap;
        let _ = from.check(&mut state, step.cost, now);
    }
    from.spend(&mut state, debt, now);
    to.take_over(&mut state, from, now);

    let mut full = M::State::default();
    to.spend(&mut full, to.limit(), now);
    for cost in 1..=to.limit() {
        prop_assert!(to.wait(&state, cost, now) <= to.wait(&full, cost, now), "{from:?} {to:?}");
    }
    Ok(())
}

fn keeps_the_count<M: Meter>(from: &M, to: &M, steps: &[Step], start: Timestamp) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    for step in steps {
        now = now + step.gap;
        let _ = from.check(&mut state, step.cost, now);
    }
    let remaining = to.limit().saturating_sub(from.used(&state, now));
    to.take_over(&mut state, from, now);
    prop_assert_eq!(to.remaining(&state, now), remaining, "{:?} {:?}", from, to);
    Ok(())
}

fn is_not_changed<M: Meter>(meter: &M, steps: &[Step], start: Timestamp) -> TestCaseResult {
    let mut state = M::State::default();
    let mut now = start;
    let mut untouched = M::State::default();
    for step in steps {
        now = now + step.gap;
        let said = meter.check(&mut state, step.cost, now).map(|(decision, _)| decision);
        let expected = meter.check(&mut untouched, step.cost, now).map(|(decision, _)| decision);
        prop_assert_eq!(said, expected, "{:?}", meter);
        meter.take_over(&mut state, meter, now);
    }
    Ok(())
}

#[test]
fn half_a_bucket_stays_half_a_bucket() {
    let from = Quota::per_minute(60);
    let to = Quota::per_minute(6);
    let mut state = 0;
    let now = Timestamp::from_secs(100);
    TokenBucket::new(&from).spend(&mut state, 30, now);
    TokenBucket::new(&to).take_over(&mut state, &TokenBucket::new(&from), now);
    assert_eq!(TokenBucket::new(&to).remaining(&state, now), 3);
}

#[test]
fn a_log_keeps_the_events_of_a_window_with_other_ticks() {
    let from = SlidingLog::new(&Quota::per_second(10), Refusals::Ignore);
    let to = SlidingLog::new(&Quota::per_hour(10), Refusals::Ignore);
    let mut state = TickLog::default();
    let start = Timestamp::from_secs(100);
    from.spend(&mut state, 2, start);
    let now = start + Duration::from_millis(900);
    let charge = from.spend(&mut state, 3, now);
    to.take_over(&mut state, &from, now);
    assert_eq!(to.used(&state, now), 5);
    assert_eq!(to.wait(&state, 6, now), Some(Duration::from_millis(3_599_100)));

    // A charge that was made before the change is still found.
    to.refund(&mut state, &charge, 3, now);
    assert_eq!(to.used(&state, now), 2);

    let shorter = SlidingLog::new(&Quota::new(10, Duration::from_millis(500)), Refusals::Ignore);
    to.spend(&mut state, 1, now);
    shorter.take_over(&mut state, &to, now);
    assert_eq!(shorter.used(&state, now), 1);
}
