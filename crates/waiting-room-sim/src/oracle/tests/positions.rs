//! Positions that are shown, and how long a first ticket keeps its order.

use super::*;

#[test]
fn a_position_that_goes_up_is_counted() {
    let mut scene = Scene::new(1, None);
    scene.ask(1, 0, ADMITTED);
    scene.ask(2, 1_000, first());
    scene.ask(2, 21_000, waits(1_000, 3));
    scene.ask(2, 41_000, waits(1_000, 2));
    scene.ask(2, 61_000, waits(1_000, 3));
    assert_eq!(scene.report().violations(), ["position_rises"]);
}

#[test]
fn a_position_may_go_up_where_it_is_said_to_be_approximate() {
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
