//! Crowds in front of a room that keeps its promises.

use waiting_room_test::{Arrivals, Crowd, Ending, Habits};

use crate::fakes::{MINUTE, SECOND, config, shop};

/// The longest time between two check-ins: 1.3 refresh intervals of 20 s.
const CHECK_IN: std::time::Duration = std::time::Duration::from_secs(26);

#[test]
fn a_mixed_crowd_finds_every_promise_of_a_room_kept() {
    waiting_room_test::run(async |clock| {
        let config = config(15).new_users_per_minute(20);
        let rules = config.clone().build().unwrap().room().unwrap().clone();
        let record = Crowd::new()
            .group(50, Habits::browser().staying(MINUTE), Arrivals::within(MINUTE))
            .group(30, Habits::api_client(), Arrivals::doors_open(MINUTE, 5 * SECOND))
            .group(10, Habits::browser().reloading_every(3 * SECOND), Arrivals::within(MINUTE))
            .group(10, Habits::browser().patience(MINUTE), Arrivals::at_once())
            .visit(shop(config, clock), clock)
            .await;
        record.never_above(15).in_order(CHECK_IN).never_early(&rules);
        let impatient = &record.visits()[90..];
        let gave_up = impatient.iter().filter(|visit| visit.ending() == Ending::LostPatience);
        assert_eq!(record.admitted() + gave_up.count(), 100);
    });
}

#[test]
fn six_times_as_many_visitors_as_slots_are_all_admitted_round_by_round() {
    waiting_room_test::run(async |clock| {
        let record = Crowd::new()
            .group(90, Habits::api_client().staying(2 * MINUTE), Arrivals::within(MINUTE))
            .visit(shop(config(15), clock), clock)
            .await;
        record.never_above(15).in_order(CHECK_IN).every_visitor_admitted().no_refusals();
        assert!(record.visits().iter().all(|visit| visit.ending() == Ending::Done));
        let last = record.visits().iter().map(|visit| visit.waited()).max().unwrap();
        // Six rounds of fifteen visitors. Each round takes two minutes and a session.
        assert!(last > 10 * MINUTE, "{last:?}");
        record.waits_at_most(25 * MINUTE);
    });
}

#[test]
fn a_seed_repeats_the_arrivals() {
    let arrivals = |seed| {
        waiting_room_test::run(async |clock| {
            let crowd = Crowd::new().seed(seed);
            let crowd = crowd.group(20, Habits::browser(), Arrivals::within(MINUTE));
            let record = crowd.visit(shop(config(50), clock), clock).await;
            assert_eq!(record.seed(), seed);
            let first = record.visits().iter().map(|visit| visit.answers()[0].sent);
            first.collect::<Vec<_>>()
        })
    };
    assert_eq!(arrivals(5), arrivals(5));
    assert_ne!(arrivals(5), arrivals(6));
}
