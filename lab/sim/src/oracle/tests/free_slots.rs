//! Tests of visitors who wait although a slot is free, and of when a slot is certainly free.

use super::*;

#[test]
fn waiting_at_an_empty_room_is_counted() {
    let mut scene = Scene::new(1, Some(1));
    scene.ask(1, 0, first());
    assert_eq!(scene.report().violations(), ["queued_while_free"]);
}

#[test]
fn waiting_at_a_full_room_is_not_counted_until_the_slot_is_certainly_free() {
    for (asks_at, expected) in [(67_499, 0), (67_500, 1)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn a_renewal_beside_the_request_may_be_a_little_later_than_the_answer() {
    for (asks_at, expected) in [(68_504, 0), (68_505, 1)] {
        let mut scene = Scene::new(1, None);
        scene.sent(1, 0);
        scene.answered(1, 5, ADMITTED);
        scene.ask(2, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn waiting_for_the_minute_is_not_counted_until_it_has_passed() {
    for (asks_at, expected) in [(59_999, 0), (60_000, 1)] {
        let mut scene = Scene::new(9, Some(1));
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn a_slot_that_was_given_back_is_free() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.leave(1, 10_000, 10_000);
    scene.ask(2, 10_001, first());
    assert_eq!(scene.report().queued_while_free, 1);
}

#[test]
fn a_room_that_was_full_for_a_moment_of_the_flight_may_say_wait() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(2, 67_499);
    scene.answered(2, 90_000, first());
    assert_eq!(scene.report().queued_while_free, 0);

    let mut scene = Scene::new(1, None);
    scene.sent(2, 10);
    scene.ask(1, 20, ADMITTED);
    scene.leave(1, 30, 40);
    scene.answered(2, 50, first());
    assert_eq!(scene.report().queued_while_free, 0, "the dip lies inside the flight");
}

#[test]
fn another_request_under_way_may_have_the_slot() {
    let mut scene = Scene::new(1, None);
    scene.sent(1, 0);
    scene.ask(2, 10, first());
    scene.answered(1, 20, ADMITTED);
    assert_eq!(scene.report().queued_while_free, 0);
}

#[test]
fn a_slot_belongs_to_the_first_present_visitor() {
    for (asks_at, expected) in [(31_000, 0), (51_000, 0), (51_001, 1)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, 1_000, first());
        scene.ask(2, 21_000, waits(1_000, 1));
        scene.leave(1, 30_000, 30_000);
        scene.ask(3, asks_at, first());
        assert_eq!(scene.report().queued_while_free, expected, "at {asks_at}");
    }
}

#[test]
fn a_first_touch_stands_in_no_line() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.leave(1, 2_000, 2_000);
    scene.ask(3, 3_000, first());
    assert_eq!(scene.report().queued_while_free, 1);
}

#[test]
fn certainly_later_arrivals_are_not_ahead() {
    let mut scene = Scene::new(2, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(9, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(3, 2_000, first());
    scene.ask(3, 22_000, waits(2_000, 2));
    scene.leave(1, 22_500, 22_500);
    scene.ask(2, 23_000, waits(1_000, 1));
    let report = scene.report();
    assert_eq!(report.queued_while_free, 1);
    assert_eq!(report.alarms[0].kind, AlarmKind::QueuedWhileFree);
    assert_eq!(report.alarms[0].visitor, VisitorNo(2));
}

#[test]
fn a_visitor_admitted_during_the_flight_may_have_been_ahead() {
    let mut scene = Scene::new(2, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(9, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.leave(1, 22_000, 22_000);
    scene.sent(3, 22_500);
    scene.ask(2, 23_000, ADMITTED);
    scene.leave(9, 23_500, 23_500);
    scene.answered(3, 24_000, first());
    assert_eq!(scene.report().queued_while_free, 0);
}

#[test]
fn an_early_check_in_is_answered_from_the_ticket() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.leave(1, 2_000, 2_000);
    scene.ask(2, 20_999, waits(1_000, 1));
    assert_eq!(scene.report().queued_while_free, 0);
}

#[test]
fn a_recovering_room_may_admit_no_visitor_for_a_while() {
    let mut scene = Scene::new(1, None);
    scene.0.restarted(at(0), at(60_000));
    scene.ask(1, 59_999, first());
    assert_eq!(scene.0.clone().finish(at(60_000)).queued_while_free, 0);
    scene.ask(2, 60_000, first());
    assert_eq!(scene.report().queued_while_free, 1);
}
