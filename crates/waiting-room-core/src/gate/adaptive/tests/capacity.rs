//! Tests that each limit settles near the capacity of the service under a load of twice that
//! capacity, and follows changes in the capacity.

use super::{
    simulation::{Order, Service, Simulation, constant},
    *,
};

/// The number of cores of all services in these tests. Each request needs a tenth of a second, so
/// 20 cores serve 200 requests per second.
const CORES: f64 = 20.0;
const CAPACITY: f64 = 200.0;

fn twice_the_load(seed: u64, service: Service) -> Simulation {
    Simulation::new(seed, service, constant(2.0 * CAPACITY))
}

/// Returns rules with a latency target of 150 ms. The median hold is 69 ms at the knee, and 150 ms
/// with 43 requests in flight.
fn with_target() -> AdaptiveRules {
    AdaptiveRules::new().latency_target(Duration::from_millis(150))
}

/// Asserts that each limit is between 1 and 1.75 times the knee on average, between 0.6 and 2.5
/// times the knee at any time, and that the throughput is at least 95 % of the capacity.
fn stays_near_the_knee(service: impl Fn() -> Service, initial: u32) {
    for seed in 1..=3 {
        for mut limit in all(with_target().initial(initial)) {
            let mut run = twice_the_load(seed, service());
            run.run(&mut *limit, 120);
            let course = run.run(&mut *limit, 600);
            let what = format!("seed {seed}, {limit:?}");
            let mean = mean_limit(&course);
            assert!((CORES..1.75 * CORES).contains(&mean), "mean {mean}, {what}");
            assert!(goodput(&course) > 0.95 * CAPACITY, "{} done, {what}", goodput(&course));
            let lowest = lowest(&course);
            let highest = highest(&course);
            assert!(lowest >= 12, "lowest {lowest}, {what}");
            assert!(highest <= 50, "highest {highest}, {what}");
        }
    }
}

#[test]
fn each_limit_settles_near_the_knee_from_below() {
    stays_near_the_knee(|| Service::new(CORES), 4);
}

#[test]
fn each_limit_settles_near_the_knee_from_above() {
    stays_near_the_knee(|| Service::new(CORES), 100);
}

#[test]
fn each_limit_settles_near_the_number_of_servers_of_a_queue() {
    stays_near_the_knee(|| Service { order: Order::First, ..Service::new(CORES) }, 20);
}

#[test]
fn a_service_that_slows_down_under_load_keeps_most_of_its_throughput() {
    for seed in 1..=3 {
        for mut limit in all(AdaptiveRules::new().initial(100)) {
            let service = Service { thrash: 0.02, ..Service::new(CORES) };
            let mut run = twice_the_load(seed, service);
            run.run(&mut *limit, 120);
            let course = run.run(&mut *limit, 600);
            // With a fixed limit of 100, the service would complete 77 requests per second.
            assert!(goodput(&course) > 0.85 * CAPACITY, "{} {limit:?}", goodput(&course));
        }
    }
}

#[test]
fn lost_and_returned_capacity_is_noticed_within_60_windows() {
    for seed in 1..=3 {
        for mut limit in all(AdaptiveRules::new()) {
            let cores = |now| if (200.0..400.0).contains(&now) { CORES / 4.0 } else { CORES };
            let service = Service { cores: Box::new(cores), timeout: 1.0, ..Service::new(CORES) };
            let mut run = twice_the_load(seed, service);
            run.run(&mut *limit, 260);
            let reduced = run.run(&mut *limit, 140);
            assert!(highest(&reduced) <= 20, "highest {}, {limit:?}", highest(&reduced));
            assert!(mean_limit(&reduced) <= 12.5, "mean {}, {limit:?}", mean_limit(&reduced));
            assert!(goodput(&reduced) > 0.95 * CAPACITY / 4.0, "{} {limit:?}", goodput(&reduced));
            run.run(&mut *limit, 60);
            let restored = run.run(&mut *limit, 140);
            assert!(goodput(&restored) > 0.95 * CAPACITY, "{} {limit:?}", goodput(&restored));
        }
    }
}

#[test]
fn a_service_whose_work_gets_three_times_as_long_keeps_its_limit() {
    for seed in 1..=3 {
        for mut limit in all(AdaptiveRules::new()) {
            let work = |now: f64| 0.1 + 0.2 * (now / 900.0).min(1.0);
            let service = Service { work: Box::new(work), ..Service::new(CORES) };
            let mut run = twice_the_load(seed, service);
            run.run(&mut *limit, 900);
            let course = run.run(&mut *limit, 300);
            let mean = mean_limit(&course);
            assert!((0.6 * CORES..4.0 * CORES).contains(&mean), "mean {mean}, {limit:?}");
            // With only 67 samples per window, Vegas mistakes the noise of the holds for a queue,
            // so its limit stays low.
            assert!(goodput(&course) > 0.7 * CAPACITY / 3.0, "{} {limit:?}", goodput(&course));
        }
    }
}

#[test]
fn a_service_that_fails_at_its_timeout_gives_aimd_a_bounded_saw_tooth() {
    for seed in 1..=3 {
        // A request takes 100 ms with 20 requests in flight, and 300 ms with 60 requests in flight.
        let service = Service { timeout: 0.6, ..Service::new(CORES) };
        let mut limit = Aimd::new(AdaptiveRules::new().initial(100)).unwrap();
        let mut run = twice_the_load(seed, service);
        run.run(&mut limit, 60);
        let course = run.run(&mut limit, 600);
        for pair in course.windows(2) {
            let before = pair[0].limit;
            let after = pair[1].limit;
            // The limit changes once per window, and occasionally two windows end in the same
            // second.
            assert!(after <= before + 2, "{before} then {after}");
            assert!(f64::from(after + 2) >= 0.81 * f64::from(before), "{before} then {after}");
        }
        assert!(
            lowest(&course) >= 12 && highest(&course) <= 32,
            "{} {}",
            lowest(&course),
            highest(&course)
        );
        let failed: u32 = course.iter().map(|second| second.failed).sum();
        assert!(f64::from(failed) < 0.03 * 600.0 * CAPACITY, "{failed} failed");
    }
}
