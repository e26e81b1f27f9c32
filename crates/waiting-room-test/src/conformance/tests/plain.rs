//! A store that implements only what a store must: neither events nor stays.

use std::error::Error;

use waiting_room_core::error::StoreErrorKind;
use waiting_room_doubles::StoreDouble;

use super::*;

#[test]
fn a_store_without_events_and_stays_passes_the_suite() {
    let plain = async |rules, clock| StoreDouble::with_clock(rules, &clock);
    for seed in seeds(2) {
        let coverage = block_on(check(SuitePlan::new(seed, COMMANDS), plain)).unwrap();
        assert_eq!(coverage.count("scheduled"), 0);
        assert!(coverage.count("admitted:slot") > 0);
    }
}

#[test]
fn an_event_is_refused_with_a_clear_error() {
    let at = Timestamp::from_secs;
    let clock = ManualClock::new(at(1_000));
    let store = StoreDouble::with_clock(RoomRules::new("shop", 1), &clock);
    let doors = Event::new("doors", at(2_000), at(3_000));
    let error = block_on(store.schedule(Schedule::new([doors]).unwrap())).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    assert_eq!(error.to_string(), "the store does not support scheduled events");
    assert!(error.source().is_none() && store.plan().is_none());
}
