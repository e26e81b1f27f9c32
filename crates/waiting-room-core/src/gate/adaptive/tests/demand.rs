//! Tests that a limit learns nothing from a load far below the limit.

use super::{
    simulation::{Service, Simulation, constant},
    *,
};

#[test]
fn a_limit_that_is_less_than_half_used_does_not_change() {
    for mut limit in all(AdaptiveRules::new().initial(40)) {
        for second in 0..600 {
            for index in 0..100 {
                let now = Timestamp::from_secs(second) + Duration::from_millis(10 * index);
                let hold = Duration::from_millis(50 + (second + index) % 100);
                limit.observe(&Sample::new(now, 19, hold, PermitOutcome::Done));
            }
        }
        assert_eq!(limit.limit(), 40, "{limit:?}");
    }
}

#[test]
fn a_limit_that_is_less_than_a_fifth_used_falls_to_five_times_its_use() {
    for mut limit in all(AdaptiveRules::new().initial(100)) {
        for second in 0..60 {
            for index in 0..20 {
                let now = Timestamp::from_secs(second) + Duration::from_millis(50 * index);
                let hold = Duration::from_millis(50);
                limit.observe(&Sample::new(now, 4, hold, PermitOutcome::Done));
            }
        }
        assert_eq!(limit.limit(), 20, "{limit:?}");
    }
}

#[test]
fn a_limit_grows_only_as_far_as_the_load_needs() {
    for seed in 1..=3 {
        for mut limit in all(AdaptiveRules::new()) {
            // At a quarter of the capacity, 5 requests run at once on average, and occasionally up
            // to 13.
            let course =
                Simulation::new(seed, Service::new(20.0), constant(50.0)).run(&mut *limit, 600);
            assert!(highest(&course) <= 40, "{} {limit:?}", highest(&course));
            assert!(goodput(&course) > 0.97 * 50.0, "{} {limit:?}", goodput(&course));
        }
    }
}

#[test]
fn at_nine_tenths_of_the_capacity_every_request_is_served() {
    for seed in 1..=3 {
        for mut limit in all(AdaptiveRules::new()) {
            let course =
                Simulation::new(seed, Service::new(20.0), constant(180.0)).run(&mut *limit, 600);
            assert!(goodput(&course) > 0.97 * 180.0, "{} {limit:?}", goodput(&course));
        }
    }
}

#[test]
fn a_limit_that_one_request_fills_grows_to_five_at_first() {
    let mut limit = Vegas::new(AdaptiveRules::new().initial(1)).unwrap();
    let course: Vec<u32> = (0..4)
        .map(|second| {
            a_second(&mut limit, second, 20, Duration::from_millis(10), PermitOutcome::Done);
            limit.limit()
        })
        .collect();
    assert!(course.contains(&5), "{course:?}");
}

#[test]
fn a_gate_that_is_not_full_is_not_blamed_for_longer_holds() {
    let mut limit = Aimd::new(AdaptiveRules::new()).unwrap();
    for second in 0..40 {
        for index in 0..20 {
            let now = Timestamp::from_millis(1_000 * second + 50 * index);
            let hold = Duration::from_millis(5 * u64::from(limit.limit()));
            limit.observe(&Sample::new(now, limit.limit() * 3 / 5, hold, PermitOutcome::Done));
        }
    }
    assert!(limit.limit() > 50, "{limit:?}");
}

#[test]
fn holds_from_before_a_pause_do_not_count() {
    let rules = AdaptiveRules::new().latency_target(Duration::from_millis(500));
    let mut limit = Aimd::new(rules).unwrap();
    for second in 0..20 {
        a_second(&mut limit, second, 20, Duration::from_millis(900), PermitOutcome::Done);
    }
    let before = limit.limit();
    assert!(before < 15);
    for second in 200..203 {
        a_second(&mut limit, second, 20, Duration::from_millis(450), PermitOutcome::Done);
    }
    assert!(limit.limit() > before, "{limit:?}");
}
