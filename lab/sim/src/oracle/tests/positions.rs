//! Tests of shown positions, and of how long a first ticket keeps its order.

use super::*;

#[test]
fn a_rising_position_is_counted() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 3));
    scene.ask(2, 41_000, waits(1_000, 2));
    scene.ask(2, 61_000, waits(1_000, 3));
    assert_eq!(scene.report().violations(), ["position_rises"]);
}

#[test]
fn an_approximate_position_may_rise() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 2));
    let Seen::Waiting { interval, waiting_since, returned_ticket, .. } = waits(1_000, 0) else {
        unreachable!("it waits");
    };
    let position = ShownPosition::Approximate;
    scene.ask(2, 41_000, Seen::Waiting { interval, waiting_since, position, returned_ticket });
    scene.ask(2, 61_000, waits(1_000, 3));
    assert_eq!(scene.report().position_rises, 0);
}

/// The answers during an outage reveal no decision, but they do show positions.
#[test]
fn a_position_shown_in_an_outage_is_compared_with_the_next_one() {
    let rises = |shown, later| {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, 1_000, first());
        scene.ask(2, 21_000, waits(1_000, 5));
        scene.0.sent(VisitorNo(2), at(41_000));
        scene.0.failed(VisitorNo(2), at(41_000));
        scene.0.shown(VisitorNo(2), shown);
        scene.ask(2, 61_000, waits(1_000, later));
        scene.report().position_rises
    };
    assert_eq!(rises(ShownPosition::None, 6), 1);
    assert_eq!(rises(ShownPosition::Approximate, 6), 0);
    assert_eq!(rises(ShownPosition::Exact(3), 4), 1);
    assert_eq!(rises(ShownPosition::Exact(6), 6), 0);
}

#[test]
fn a_first_ticket_keeps_its_order_for_one_and_a_half_intervals() {
    let losses = |brought_back| {
        let mut scene = Scene::new(1, None);
        scene.ask(1, 0, ADMITTED);
        scene.ask(2, 1_000, waits_without_ticket(1_000));
        scene.ask(2, brought_back, waits(brought_back, 1));
        scene.report().lost_places
    };
    assert_eq!((losses(30_999), losses(31_001)), (1, 0));
}

#[test]
fn a_new_place_begins_with_a_new_position() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 1));
    scene.ask(2, 400_000, waits(400_000, 7));
    assert_eq!(scene.report().position_rises, 0);
}
