//! Tests of the order in which visitors are let in.

use super::*;

#[test]
fn a_later_visitor_admitted_first_is_an_inversion() {
    let mut scene = two_in_line();
    scene.ask(3, 42_000, ADMITTED);
    scene.ask(2, 61_000, waits(1_000, 1));
    assert_eq!(scene.report().violations(), ["order_inversions"]);
}

#[test]
fn an_away_visitor_may_be_overtaken() {
    let mut scene = two_in_line();
    scene.ask(3, 71_000, ADMITTED);
    scene.ask(2, 72_000, waits(1_000, 1));
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn an_earlier_visitor_admitted_first_is_no_inversion() {
    let mut scene = two_in_line();
    scene.ask(2, 61_000, ADMITTED);
    scene.ask(3, 62_000, waits(2_000, 1));
    assert_eq!(scene.report().violations(), Vec::<&str>::new());
}

#[test]
fn an_admission_concurrent_with_the_check_in_is_no_inversion() {
    let mut scene = two_in_line();
    scene.sent(2, 61_000);
    scene.ask(3, 61_500, ADMITTED);
    scene.answered(2, 62_000, waits(1_000, 1));
    assert_eq!(scene.report().order_inversions, 0);
}

#[test]
fn simultaneous_arrivals_have_no_order() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.sent(2, 1_000);
    scene.sent(3, 1_500);
    scene.answered(2, 2_000, first());
    scene.answered(3, 2_000, first());
    scene.ask(2, 22_000, waits(1_000, 1));
    scene.ask(3, 22_500, waits(1_000, 2));
    scene.leave(1, 23_000, 23_000);
    scene.ask(3, 42_500, ADMITTED);
    scene.ask(2, 43_000, waits(1_000, 1));
    assert_eq!(scene.report().order_inversions, 0);
}
