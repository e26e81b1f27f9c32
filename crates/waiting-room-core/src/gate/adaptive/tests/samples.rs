//! Tests with samples that arrive late, rarely or all at once, or that make no sense.

use proptest::prelude::*;

use super::*;
use crate::{error::ConfigErrorKind, gate::adaptive::FixedLimit};

fn sample(now: Timestamp, in_flight: u32) -> Sample {
    Sample::new(now, in_flight, Duration::from_millis(10), PermitOutcome::Done)
}

prop_compose! {
    fn anything()(
        now in prop_oneof![0..200_000_000_000u64, any::<u64>()],
        in_flight in prop_oneof![0..300u32, any::<u32>()],
        hold in prop_oneof![
            Just(Duration::ZERO),
            (0..10_000_000_000u64).prop_map(Duration::from_nanos),
            Just(Duration::MAX),
        ],
        is_overloaded in prop::bool::weighted(0.05),
    ) -> Sample {
        let outcome = if is_overloaded { PermitOutcome::Overloaded } else { PermitOutcome::Done };
        Sample::new(Timestamp::from_nanos(now), in_flight, hold, outcome)
    }
}

fn any_rules() -> impl Strategy<Value = AdaptiveRules> {
    (1..300u32, 0..300u32, 0..=100u32, prop::option::of(1..1_000u64)).prop_map(
        |(min, more, percent, target)| {
            AdaptiveRules::new()
                .min(min)
                .max(min + more)
                .initial(min + more * percent / 100)
                .latency_target(target.map(Duration::from_millis))
                .window(AdaptiveRules::WINDOW.0)
        },
    )
}

proptest! {
    #[test]
    fn a_limit_stays_within_its_bounds_for_any_samples(
        rules in any_rules(),
        samples in prop::collection::vec(anything(), 0..200),
        in_order in any::<bool>(),
    ) {
        let mut samples = samples;
        if in_order {
            samples.sort_by_key(|sample| sample.now);
        }
        for mut limit in all(rules) {
            prop_assert!((rules.min..=rules.max).contains(&limit.limit()));
            for sample in &samples {
                let answer = limit.observe(sample);
                prop_assert!((rules.min..=rules.max).contains(&answer), "{answer} {limit:?}");
                prop_assert_eq!(answer, limit.limit());
            }
        }
    }
}

#[test]
fn a_limit_with_equal_bounds_does_not_move() {
    for mut limit in all(AdaptiveRules::new().min(7).max(7)) {
        for second in 0..100 {
            a_second(&mut *limit, second, 20, Duration::from_millis(10), PermitOutcome::Done);
            assert_eq!(limit.limit(), 7);
        }
    }
}

#[test]
fn while_time_stands_still_so_does_the_limit() {
    for mut limit in all(AdaptiveRules::new()) {
        for _ in 0..100_000 {
            limit.observe(&sample(Timestamp::from_secs(5), 20));
        }
        assert_eq!(limit.limit(), 20);
    }
}

#[test]
fn one_request_an_hour_is_no_evidence() {
    for mut limit in all(AdaptiveRules::new()) {
        for hour in 0..1_000 {
            let now = Timestamp::from_secs(hour * 3_600);
            let hold = Duration::from_secs(30);
            limit.observe(&Sample::new(now, 20, hold, PermitOutcome::Overloaded));
        }
        assert_eq!(limit.limit(), 20);
    }
}

#[test]
fn an_empty_window_restarts_after_its_span_and_notes_a_pause_after_a_minute() {
    let second = Duration::from_secs(1);
    let nano = Duration::from_nanos(1);
    for (empty_for, is_complete, after_a_pause) in [
        (second, true, false),
        (second + nano, false, false),
        (60 * second, false, false),
        (60 * second + nano, false, true),
    ] {
        let mut window = Window::new(second);
        let begin = Timestamp::from_secs(1_000);
        let mut ten = |at| (0..10).filter_map(|_| window.add(&sample(at, 1))).last();
        assert_eq!(ten(begin), None);
        let first = window.add(&sample(begin + second, 1));
        assert!(first.is_some_and(|reading| !reading.after_a_pause));
        let at = begin + second + empty_for;
        let mut ten = |at| (0..10).filter_map(|_| window.add(&sample(at, 1))).last();
        let next = ten(at);
        assert_eq!(next.is_some(), is_complete, "{empty_for:?}");
        let next = next.or_else(|| ten(at + second)).unwrap();
        assert_eq!(next.after_a_pause, after_a_pause, "{empty_for:?}");
    }
}

#[test]
fn a_window_spans_two_holds_up_to_half_a_minute() {
    for (hold, span) in [(100, 1_000), (4_000, 8_000), (16_000, 30_000), (100_000, 30_000)] {
        let mut window = Window::new(Duration::from_secs(1));
        let hold = Duration::from_millis(hold);
        let mut ends = |millis| {
            let now = Timestamp::from_millis(millis);
            let sample = Sample::new(now, 1, hold, PermitOutcome::Done);
            (0..10).filter_map(|_| window.add(&sample)).last().is_some()
        };
        assert!(!ends(0) && ends(1_000));
        // Nine samples of the last call belong to this window.
        assert!(!ends(1_000 + span * 9 / 10), "{hold:?}");
        assert!(ends(1_000 + span * 11 / 10), "{hold:?}");
    }
}

#[test]
fn a_clock_that_jumped_ahead_once_does_not_stop_the_limit_forever() {
    let mut limit = Aimd::new(AdaptiveRules::new()).unwrap();
    limit.observe(&sample(Timestamp::MAX, 20));
    for second in 0..10 {
        let count = limit.limit();
        a_second(&mut limit, second, count, Duration::from_millis(10), PermitOutcome::Done);
    }
    assert!(limit.limit() > 25, "{limit:?}");
}

#[test]
fn samples_in_any_order_within_a_second_mean_the_same() {
    let in_order: Vec<u64> = (0..1_000).collect();
    let shuffled: Vec<u64> = (0..1_000).map(|index| index / 50 * 50 + index * 7 % 50).collect();
    let [forwards, mixed] = [in_order, shuffled].map(|times| {
        let mut limit = Aimd::new(AdaptiveRules::new()).unwrap();
        for time in times {
            limit.observe(&sample(Timestamp::from_millis(20 * time), limit.limit()));
        }
        limit.limit()
    });
    assert!(forwards.abs_diff(mixed) <= 1, "{forwards} or {mixed}");
    assert!(forwards > 30);
}

#[test]
fn requests_from_a_higher_limit_are_no_reason_to_grow() {
    let mut limit = Aimd::new(AdaptiveRules::new().min(5).initial(100)).unwrap();
    let seconds = |limit: &mut Aimd, range: std::ops::Range<u64>, in_flight| {
        for second in range {
            for index in 0..20 {
                let now = Timestamp::from_secs(second) + Duration::from_millis(50 * index);
                let hold = Duration::from_millis(100);
                limit.observe(&Sample::new(now, in_flight, hold, PermitOutcome::Overloaded));
            }
        }
    };
    seconds(&mut limit, 0..60, 100);
    assert_eq!(limit.limit(), 5);
}

#[test]
fn one_stream_in_ten_requests_does_not_count_as_slow() {
    let target = Duration::from_millis(100);
    for mut limit in all(AdaptiveRules::new().latency_target(target)) {
        for second in 0..30 {
            let count = u64::from(limit.limit());
            for index in 0..count {
                let now = Timestamp::from_millis(1_000 * second + 1_000 * index / count);
                let is_stream = index % 10 == 9;
                let hold = Duration::from_millis(if is_stream { 600_000 } else { 20 });
                limit.observe(&Sample::new(now, limit.limit(), hold, PermitOutcome::Done));
            }
        }
        assert!(limit.limit() > 20, "{limit:?}");
    }
}

#[test]
fn a_fixed_limit_ignores_samples() {
    let mut limit: Box<dyn AdaptiveLimit> = Box::new(FixedLimit::new(9));
    for second in 0..100 {
        a_second(&mut limit, second, 20, Duration::from_secs(60), PermitOutcome::Overloaded);
    }
    assert_eq!((limit.limit(), limit.observe(&sample(Timestamp::ZERO, 20))), (9, 9));
}

#[test]
fn invalid_rules_are_refused_by_name() {
    use ConfigErrorKind::{Contradicts, TooLarge, TooSmall};

    let rules = AdaptiveRules::new;
    for (rules, kind, message) in [
        (rules().min(0), TooSmall, "min is 0, expected at least 1"),
        (rules().min(9).max(8), Contradicts, "min is 9, expected at most max, which is 8"),
        (rules().max(1_000_001), TooLarge, "max is 1000001, expected at most 1000000"),
        (
            rules().min(2).max(8).initial(9),
            Contradicts,
            "initial is 9, expected between min and max, which are 2 and 8",
        ),
        (
            rules().latency_target(Duration::ZERO),
            TooSmall,
            "latency_target is 0ns, expected at least 1ms",
        ),
        (
            rules().window(Duration::from_millis(99)),
            TooSmall,
            "window is 99ms, expected at least 100ms",
        ),
        (rules().window(Duration::from_secs(11)), TooLarge, "window is 11s, expected at most 10s"),
    ] {
        let error = Vegas::new(rules).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
    }
    let (shortest, longest) = AdaptiveRules::WINDOW;
    for rules in [rules().window(shortest), rules().window(longest), rules().min(9).max(9)] {
        assert!(Vegas::new(rules.latency_target(Duration::from_millis(1))).is_ok(), "{rules:?}");
    }
}

#[test]
fn a_limit_begins_at_20_or_at_the_nearest_bound() {
    for (min, max, first) in [(1, 200, 20), (30, 200, 30), (1, 8, 8), (1, 1_000_000, 20)] {
        let limit = Aimd::new(AdaptiveRules::new().min(min).max(max)).unwrap();
        assert_eq!(limit.limit(), first);
    }
}
