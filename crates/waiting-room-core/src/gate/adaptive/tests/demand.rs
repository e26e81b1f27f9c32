//! Where the load is less than the limit, the limit has nothing to learn.

use super::{
    simulation::{Service, Simulation, constant},
    *,
};

#[test]
fn a_limit_that_is_not_half_used_stays_where_it_is() {
    for mut limit in all(LimitRules::new().initial(40)) {
        for second in 0..600 {
            for index in 0..100 {
                let now = Timestamp::from_secs(second) + Duration::from_millis(10 * index);
                let hold = Duration::from_millis(50 + (second + index) % 100);
                limit.observe(&Sample::new(now, 19, hold, HoldOutcome::Done));
            }
        }
        assert_eq!(limit.limit(), 40, "{limit:?}");
    }
}

#[test]
fn a_limit_that_is_not_a_fifth_used_comes_down_to_five_times_what_is() {
    for mut limit in all(LimitRules::new().initial(100)) {
        for second in 0..60 {
            for index in 0..20 {
                let now = Timestamp::from_secs(second) + Duration::from_millis(50 * index);
                let hold = Duration::from_millis(50);
                limit.observe(&Sample::new(now, 4, hold, HoldOutcome::Done));
            }
        }
        assert_eq!(limit.limit(), 20, "{limit:?}");
    }
}

#[test]
fn a_limit_grows_no_further_than_the_load_asks_for() {
    for seed in 1..=3 {
        for mut limit in all(LimitRules::new()) {
            // A quarter of what the service can do: 5 run on average, and 13 at times.
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
        for mut limit in all(LimitRules::new()) {
            let course =
                Simulation::new(seed, Service::new(20.0), constant(180.0)).run(&mut *limit, 600);
            assert!(goodput(&course) > 0.97 * 180.0, "{} {limit:?}", goodput(&course));
        }
    }
}
