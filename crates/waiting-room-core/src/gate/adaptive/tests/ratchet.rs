//! Tests that show the reason for the guard by running the published rules with and without it.

use super::{
    super::{gradient2::Gradient, vegas::QueueSize},
    simulation::{Order, Service, Simulation, constant},
    *,
};

/// Simulates an hour of load at twice the capacity of 20 servers that share one queue.
fn an_hour_of_overload(limit: &mut dyn AdaptiveLimit, seed: u64) -> Vec<Second> {
    let service = Service { order: Order::First, ..Service::new(20.0) };
    Simulation::new(seed, service, constant(400.0)).run(limit, 3_600)
}

#[test]
fn without_the_guard_an_hour_of_overload_raises_limits_to_the_maximum() {
    let naked: [Box<dyn AdaptiveLimit>; 2] =
        [Box::new(Naked::<Gradient>::new()), Box::new(Naked::<QueueSize>::new())];
    for mut limit in naked {
        let course = an_hour_of_overload(&mut *limit, 1);
        assert!(mean_limit(&course[3_000..]) > 195.0, "{limit:?}");
    }
}

#[test]
fn with_the_guard_an_hour_of_overload_leaves_every_limit_near_the_knee() {
    for mut limit in all(AdaptiveRules::new()) {
        let course = an_hour_of_overload(&mut *limit, 1);
        assert!(highest(&course) <= 60, "highest {}, {limit:?}", highest(&course));
        assert!(mean_limit(&course[3_000..]) < 30.0, "{limit:?}");
    }
}

/// Simulates an hour in which each request takes exactly five seconds, as if all requests ran into
/// the same timeout. In this scenario, the throughput grows with the limit.
fn an_hour_of_timeouts(limit: &mut dyn AdaptiveLimit, outcome: PermitOutcome) {
    for second in 0..3_600 {
        let count = (limit.limit() / 5).max(2);
        a_second(limit, second, count, Duration::from_secs(5), outcome);
    }
}

#[test]
fn constant_holds_look_calm_to_limits_that_only_compare_them() {
    let naked: [Box<dyn AdaptiveLimit>; 2] =
        [Box::new(Naked::<Gradient>::new()), Box::new(Naked::<QueueSize>::new())];
    // The throughput veto does not help here, because throughput grows with the limit.
    for mut limit in naked.into_iter().chain(all(AdaptiveRules::new())) {
        an_hour_of_timeouts(&mut *limit, PermitOutcome::Done);
        assert_eq!(limit.limit(), 200, "{limit:?}");
    }
}

#[test]
fn a_target_detects_holds_that_are_steadily_too_slow() {
    for mut limit in all(AdaptiveRules::new().min(3).latency_target(Duration::from_secs(1))) {
        an_hour_of_timeouts(&mut *limit, PermitOutcome::Done);
        assert_eq!(limit.limit(), 3, "{limit:?}");
    }
}

#[test]
fn a_limit_falls_to_the_minimum_under_overload_and_recovers() {
    for mut limit in all(AdaptiveRules::new().min(3).initial(100)) {
        an_hour_of_timeouts(&mut *limit, PermitOutcome::Overloaded);
        assert_eq!(limit.limit(), 3, "{limit:?}");
        for second in 4_000..4_060 {
            let count = limit.limit() * 10;
            a_second(&mut *limit, second, count, Duration::from_millis(100), PermitOutcome::Done);
        }
        assert!(limit.limit() >= 40, "{limit:?}");
    }
}

#[test]
fn an_unreachable_target_leaves_only_the_minimum() {
    for mut limit in all(AdaptiveRules::new().latency_target(Duration::from_millis(50))) {
        let service = Service::new(20.0);
        let course = Simulation::new(1, service, constant(400.0)).run(&mut *limit, 300);
        assert!(mean_limit(&course[200..]) < 2.0, "{limit:?}");
    }
}

#[test]
fn a_target_bounds_the_typical_hold_without_any_other_measure() {
    let hold = |rules: AdaptiveRules| {
        let mut limit = Aimd::new(rules.initial(100)).unwrap();
        let course = Simulation::new(1, Service::new(20.0), constant(400.0)).run(&mut limit, 600);
        let holds: f64 = course[120..].iter().map(|second| second.holds).sum();
        holds / 480.0 / goodput(&course[120..])
    };
    // The median of exponentially distributed holds is ln 2 times the mean, so a median of 120 ms
    // corresponds to a mean of 173 ms.
    let target = Duration::from_millis(120);
    let free = hold(AdaptiveRules::new());
    let bound = hold(AdaptiveRules::new().latency_target(target));
    assert!(bound < 0.173 && free > bound, "{bound} with a target, {free} without");
}
