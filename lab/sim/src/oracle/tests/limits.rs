//! Tests of the limits on visitors: those who are inside at once, and those who enter in a minute.

use super::*;

// Active visitors.

#[test]
fn one_visitor_too_many_is_counted() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 59_999, ADMITTED);
    let report = scene.report();
    assert_eq!((report.max_active, report.violations()), (2, vec!["max_active"]));
}

#[test]
fn a_session_that_may_be_over_is_not_counted() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 60_000, ADMITTED);
    assert_eq!(scene.report().max_active, 1);
}

#[test]
fn each_request_extends_a_session_from_its_departure() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.answered(1, 55_000, ADMITTED);
    scene.ask(2, 109_999, ADMITTED);
    assert_eq!(scene.report().max_active, 2);

    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.answered(1, 55_000, ADMITTED);
    scene.ask(2, 110_000, ADMITTED);
    assert_eq!(scene.report().max_active, 1);
}

#[test]
fn an_answer_under_way_proves_nothing_before_it_arrives() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(2, 10_000);
    scene.answered(2, 60_000, ADMITTED);
    assert_eq!(scene.report().max_active, 1, "the decision may have come at the last moment");
}

#[test]
fn a_checkout_frees_the_slot_at_its_departure() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 10_000);
    scene.ask(2, 10_500, ADMITTED);
    scene.0.left(VisitorNo(1), at(10_000), at(11_000));
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn a_request_that_was_no_checkout_kept_the_slot_throughout() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 10_000);
    scene.ask(2, 10_500, ADMITTED);
    scene.answered(1, 11_000, ADMITTED);
    assert_eq!(scene.report().max_active, 2);
}

#[test]
fn an_unanswered_request_may_have_been_a_checkout() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(1, 50_000);
    scene.ask(2, 50_500, ADMITTED);
    assert_eq!(scene.report().max_active, 1);
}

// New visitors in a minute.

#[test]
fn one_admission_too_many_in_sixty_seconds_is_counted() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 59_999, ADMITTED);
    let report = scene.report();
    assert_eq!(report.violations(), ["max_new_in_any_60s"]);
}

#[test]
fn admissions_a_minute_apart_share_no_window() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 60_000, ADMITTED);
    scene.sent(3, 119_000);
    scene.answered(3, 120_001, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 1);
}

#[test]
fn a_continued_session_is_no_admission() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.ask(1, 30_000, ADMITTED);
    scene.ask(1, 97_000, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 1, "the pass may have lived until 97.5 s");
}

#[test]
fn a_visitor_that_left_and_returns_is_admitted_anew() {
    let mut scene = Scene::new(9, Some(1));
    scene.ask(1, 0, ADMITTED);
    scene.leave(1, 10_000, 10_000);
    scene.ask(1, 20_000, ADMITTED);
    assert_eq!(scene.report().max_new_in_any_60s, 2);
}
