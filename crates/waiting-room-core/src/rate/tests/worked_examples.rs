//! Worked examples from well-known descriptions of the algorithms. Numbers such as V34 refer to the
//! project's reference.

use super::*;

/// Checks a cost of one at each of these times, given in minutes and seconds, and returns whether
/// each was allowed.
fn ask<M: Meter>(meter: &M, state: &mut M::State, times: &[(u64, u64)]) -> Vec<bool> {
    times.iter().map(|&at| meter.check(state, 1, clock(at)).is_ok()).collect()
}

/// The time at this many minutes and seconds past the hour.
fn clock((minutes, seconds): (u64, u64)) -> Timestamp {
    Timestamp::from_secs(1_000 * 3_600 + minutes * 60 + seconds)
}

#[test]
fn v34_a_sliding_counter_rounds_the_weighted_count_down() {
    let counter = SlidingCounter::new(&Quota::per_minute(7));
    let mut state = SlidingCounterState::default();
    assert!(counter.check(&mut state, 5, clock((0, 30))).is_ok());
    // These three units are spent without a check, because the estimate at this time is 5 × 100 %,
    // so three more units would be refused.
    counter.spend(&mut state, 3, clock((1, 0)));

    // 3 + 5 × 70 % = 6.5, which counts as 6.
    assert_eq!(counter.used(&state, clock((1, 18))), 6);
    assert_eq!(ask(&counter, &mut state, &[(1, 18), (1, 18)]), [true, false]);
}

#[test]
fn v35_a_fixed_window_lets_twice_the_limit_through_around_its_boundary() {
    let window = FixedWindow::new(&Quota::per_minute(5), Alignment::Epoch);
    let mut state = FixedWindowState::default();
    let end = [(0, 30), (0, 35), (0, 40), (0, 50), (0, 59)];
    let start = [(1, 0), (1, 10), (1, 15), (1, 20), (1, 29)];
    assert_eq!(ask(&window, &mut state, &end), [true; 5]);
    assert_eq!(ask(&window, &mut state, &[(0, 59)]), [false]);
    assert_eq!(ask(&window, &mut state, &start), [true; 5]);
    assert_eq!(ask(&window, &mut state, &[(1, 29)]), [false]);
}

#[test]
fn v36_a_sliding_log_with_penalty_counts_refusals_too() {
    let times = [(0, 1), (0, 30), (0, 50), (1, 40)];
    let expected = [true, true, false, true];
    for refusals in [Refusals::Count, Refusals::Ignore] {
        let log = SlidingLog::new(&Quota::per_minute(2), refusals);
        assert_eq!(ask(&log, &mut TickLog::default(), &times), expected);
    }

    // The refusal at 0:50 affects only the second request after it.
    for (refusals, again) in [(Refusals::Count, false), (Refusals::Ignore, true)] {
        let log = SlidingLog::new(&Quota::per_minute(2), refusals);
        let mut state = TickLog::default();
        ask(&log, &mut state, &times);
        assert_eq!(ask(&log, &mut state, &[(1, 45)]), [again]);
    }
}

#[test]
fn a_counted_refusal_measures_the_retry_time_from_itself() {
    let log = SlidingLog::new(&Quota::per_minute(1), Refusals::Count);
    let mut state = TickLog::default();
    ask(&log, &mut state, &[(0, 0)]);
    let refused = log.check(&mut state, 1, clock((0, 20))).unwrap_err();
    assert_eq!(refused.retry_after, Some(Duration::from_secs(60)));
}

#[test]
fn a_bucket_of_four_tokens_with_four_a_minute() {
    let bucket = TokenBucket::new(&Quota::per_minute(4));
    let mut state = 0;
    // All tokens are used at once, and a fifth request is refused.
    assert_eq!(ask(&bucket, &mut state, &[(0, 0); 5]), [true, true, true, true, false]);
    // Tokens arrive one by one, and no more than four are saved in an idle hour.
    let times = [(0, 14), (0, 15), (0, 15), (0, 30)];
    assert_eq!(ask(&bucket, &mut state, &times), [false, true, false, true]);
    assert_eq!(ask(&bucket, &mut state, &[(59, 0); 5]), [true, true, true, true, false]);
}
