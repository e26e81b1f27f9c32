//! Tests of requests without an answer, and of rooms that lose their memory.

use super::*;

#[test]
fn a_request_that_failed_may_have_been_a_checkout() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 10_000);
    scene.failed(1, 12_000);
    scene.ask(2, 11_000, ADMITTED);
    scene.ask(1, 20_000, first());
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn a_failed_checkout_frees_the_slot_however_late_it_is_known() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.ask(2, 50_500, ADMITTED);
    scene.failed(1, 80_000);
    assert_eq!(scene.report().max_active, 1);
}

#[test]
fn an_admission_with_a_lost_first_answer_may_have_been_long_ago() {
    let mut scene = Scene::new(9, Some(1));
    scene.sent(1, 0);
    scene.failed(1, 5_000);
    scene.ask(2, 1_000 + 5_000, ADMITTED);
    scene.ask(1, 60_500, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 1);
}

#[test]
fn a_request_that_failed_may_have_the_slot() {
    let mut scene = Scene::new(1, None);
    scene.sent(1, 0);
    scene.failed(1, 1_000);
    scene.ask(2, 120_000, first());
    scene.ask(3, 128_499, first());
    assert_eq!(scene.0.clone().finish(at(128_499)).queued_while_free, 0);
    scene.ask(4, 128_500, first());
    assert_eq!(scene.report().queued_while_free, 1);
}

#[test]
fn a_slot_renewed_without_an_answer_outlives_its_pass() {
    // The pass lapses at 60 s. The slot may be held until 178.5 s.
    for (back_at, answered_at, free) in
        [(59_000, 59_999, 1), (60_000, 60_000, 0), (59_000, 60_000, 0)]
    {
        let mut scene = Scene::new(2, None);
        scene.ask(1, 0, ADMITTED);
        scene.sent(1, 50_000);
        scene.failed(1, 51_000);
        scene.sent(1, back_at);
        scene.answered(1, answered_at, ADMITTED);
        scene.ask(2, 61_000, first());
        scene.ask(3, 127_499, first());
        assert_eq!(scene.report().queued_while_free, 2 * free, "back at {back_at}");
    }
}

#[test]
fn an_admitted_visitor_is_active_at_least_until_its_pass_lapses() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.0.passed(VisitorNo(1), at(51_000));
    let with_another_at = |ms| {
        let mut scene = Scene(scene.0.clone());
        scene.ask(2, ms, ADMITTED);
        scene.report().max_active
    };
    assert_eq!([59_999, 60_000].map(with_another_at), [2, 1]);
    // The pass is valid until 60 s. A late renewal may hold the slot until 119.5 s.
    scene.ask(1, 59_000, first());
    scene.ask(3, 119_499, first());
    scene.ask(4, 119_500, first());
    let report = scene.report();
    assert_eq!((report.lost_places, report.queued_while_free), (1, 1));
}

#[test]
fn a_restarted_room_does_not_know_the_present_visitors() {
    let mut scene = two_in_line();
    scene.0.restarted(at(41_600), at(41_600));
    scene.ask(3, 42_000, ADMITTED);
    scene.ask(2, 61_000, waits(1_000, 1));
    assert_eq!(scene.report().order_inversions, 0);
}

#[test]
fn a_place_that_is_taken_away_in_time_is_lost() {
    for (back_at, expected) in [(320_999, 1), (321_000, 0)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, 1_000, first());
        scene.ask(2, 21_000, waits(1_000, 1));
        scene.ask(1, 60_000 - 1, ADMITTED);
        scene.ask(2, back_at, waits(back_at, 1));
        assert_eq!(scene.report().lost_places, expected, "back at {back_at}");
    }
}

#[test]
fn a_session_that_is_broken_off_is_lost() {
    for (back_at, expected) in [(59_999, 1), (60_000, 0)] {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(1, back_at, first());
        assert_eq!(scene.report().lost_places, expected, "back at {back_at}");
    }
}

#[test]
fn a_failed_request_may_have_used_up_the_ticket() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.sent(2, 68_000);
    scene.failed(2, 70_000);
    scene.ask(2, 200_000, waits(200_000, 1));
    assert_eq!(scene.report().lost_places, 0);
}

#[test]
fn a_ticket_that_a_failed_request_used_up_makes_no_place() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, Seen::Refused);
    scene.sent(2, 41_000);
    scene.failed(2, 46_000);
    let touched_anew = Seen::Waiting {
        interval: Duration::from_secs(3),
        waiting_since: Some(at(48_000)),
        position: ShownPosition::None,
        returned_ticket: true,
    };
    scene.ask(2, 48_000, touched_anew);
    scene.ask(2, 51_000, Seen::Refused);
    assert_eq!(scene.report().lost_places, 0);
}

#[test]
fn an_early_check_in_does_not_reveal_the_fate_of_a_failed_request() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.sent(2, 40_900);
    scene.failed(2, 40_910);
    scene.ask(2, 40_920, waits(1_000, 1));
    scene.ask(2, 200_000, waits(200_000, 1));
    assert_eq!(scene.report().lost_places, 0);
}
