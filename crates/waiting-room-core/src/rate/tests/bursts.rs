//! The maximum that can pass in any window, not only in windows that begin at a boundary.

use super::*;

/// The time of each unit of cost that a meter allows for these requests.
fn passed<M: Meter>(meter: &M, steps: &[Step], start: Timestamp) -> Vec<u64> {
    let mut state = M::State::default();
    let mut now = start;
    let mut times = Vec::new();
    for step in steps {
        now = now + step.gap;
        if let Ok((_, charge)) = meter.check(&mut state, step.cost, now) {
            times.extend((0..charge.cost).map(|_| now.as_nanos()));
        }
    }
    times
}

/// The times of `units` units of cost, spent one by one, each as early as the meter allows.
fn greedy<M: Meter>(meter: &M, units: usize) -> Vec<u64> {
    let mut state = M::State::default();
    let mut now = Timestamp::from_secs(100);
    let mut times = Vec::new();
    while times.len() < units {
        now = now + meter.wait(&state, 1, now).unwrap();
        assert!(meter.check(&mut state, 1, now).is_ok());
        times.push(now.as_nanos());
    }
    times
}

/// The maximum number of these times within any closed interval of length `span`.
fn most_within(times: &[u64], span: u64) -> usize {
    let within = |first: u64| times.iter().filter(|&&at| at >= first && at - first <= span).count();
    times.iter().map(|&first| within(first)).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn a_sliding_log_never_exceeds_the_limit_in_any_window(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        // In integer arithmetic, a half-open window is a closed interval that is one nanosecond
        // shorter.
        let times = passed(&SlidingLog::new(&quota, Refusals::Ignore), &steps, start);
        let most = most_within(&times, quota.window_nanos() - 1);
        prop_assert!(most as u64 <= quota.limit(), "{most} passed");
    }

    #[test]
    fn a_sliding_log_is_late_by_two_of_its_ticks_at_most(
        (quota, steps) in traffic(quotas()),
        start in starts(),
    ) {
        let log = SlidingLog::new(&quota, Refusals::Ignore);
        // The smallest power of ten for which the window has fewer than 2³¹ ticks.
        let tick = (0..).map(|power| 10u64.pow(power)).find(|tick| {
            quota.window_nanos() / tick < 1 << 31
        });
        let late = 2 * (tick.unwrap() - 1);
        let mut state = TickLog::default();
        let mut now = start;
        let mut times = Vec::new();
        for step in &steps {
            now = now + step.gap;
            let window = quota.window_nanos() + late;
            let used = times.iter().filter(|&&at| now.as_nanos() - at < window).count() as u64;
            let due = step.cost + used <= quota.limit();
            let allowed = log.check(&mut state, step.cost, now).is_ok();
            prop_assert!(allowed || !due, "{step:?} at {now:?}");
            if allowed {
                times.extend((0..step.cost).map(|_| now.as_nanos()));
            }
        }
    }

    #[test]
    fn a_burst_up_to_the_limit_is_allowed_at_once(quota in quotas(), start in starts()) {
        holds_for_all!(allows_its_limit, &quota, start);
    }

    #[test]
    fn v38_a_leaky_bucket_never_exceeds_twice_its_capacity(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        let quota = Quota::new(quota.limit(), quota.window());
        let times = passed(&Gcra::new(&quota), &steps, start);
        prop_assert!(most_within(&times, quota.window_nanos()) as u64 <= 2 * quota.limit());
        prop_assert!((most_within(&times, quota.window_nanos() - 1) as u64) < 2 * quota.limit());
    }

    #[test]
    fn v38_a_third_of_the_limit_as_capacity_keeps_the_limit(
        (quota, steps) in traffic(whole_quotas()),
        start in starts(),
    ) {
        let capacity = quota.limit();
        let window = quota.window();
        let times = passed(&Gcra::new(&Quota::new(capacity, window)), &steps, start);
        prop_assert!(most_within(&times, quota.window_nanos()) as u64 <= 3 * capacity);
    }
}

fn allows_its_limit<M: Meter>(meter: &M, start: Timestamp) -> TestCaseResult {
    let mut state = M::State::default();
    for _ in 0..meter.limit() {
        prop_assert!(meter.check(&mut state, 1, start).is_ok(), "{meter:?}");
    }
    prop_assert!(meter.check(&mut state, 1, start).is_err(), "{meter:?}");
    Ok(())
}

/// The source of example V38 (see `worked_examples.rs`) states a bound of 3C for a window of length
/// T. The source assumes that the bucket can be filled twice before anything leaks out, but a full
/// bucket cannot be filled again. The bound of 3C is therefore never reached. A full bucket, plus
/// the amount that leaks out of the bucket in T, is 2C. This is the exact maximum for a closed
/// window. For a half-open window, the maximum is 2C − 1.
#[test]
fn v38_a_greedy_client_gets_exactly_twice_the_capacity() {
    for capacity in 1..=12 {
        let quota = Quota::new(capacity, Duration::from_nanos(720_720 * 10));
        let units = 5 * usize::try_from(capacity).unwrap();
        for times in [greedy(&Gcra::new(&quota), units), greedy(&TokenBucket::new(&quota), units)] {
            let most = |span| most_within(&times, span) as u64;
            assert_eq!(most(quota.window_nanos()), 2 * capacity);
            assert_eq!(most(quota.window_nanos() - 1), 2 * capacity - 1);
        }
    }
}

/// The client gets exactly twice the limit because the estimate is rounded down, as in example V34.
/// Without rounding, the client would get one less.
#[test]
fn knowing_the_boundary_gains_twice_the_limit_of_a_sliding_counter() {
    let counter = SlidingCounter::new(&Quota::per_minute(100));
    let mut state = SlidingCounterState::default();
    let mut times = Vec::new();
    let mut now = Timestamp::from_secs(60).before(NANO);
    while now < Timestamp::from_secs(120) {
        assert!(counter.check(&mut state, 1, now).is_ok());
        times.push(now.as_nanos());
        now = now + counter.wait(&state, 1, now).unwrap();
    }
    assert_eq!(most_within(&times, 60_000_000_000 - 1), 200);
}

#[test]
fn a_bucket_holds_no_more_after_a_pause_than_it_ever_did() {
    let quota = Quota::per_second(1).burst(10);
    for pause in [8, 10, 11, 1_000_000] {
        let bucket = TokenBucket::new(&quota);
        let mut state = 0;
        let start = Timestamp::from_secs(100);
        bucket.spend(&mut state, 1, start);
        let now = start + Duration::from_secs(pause);
        assert_eq!(bucket.remaining(&state, now), 10);
        assert!(bucket.check(&mut state, 11, now).is_err());
    }
}
