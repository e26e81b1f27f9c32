//! Tests of the bound on the queue, and of the order of the queue under FIFO.

use super::*;

fn fifo(limit: u32, queue: u32) -> World {
    World::new(GateRules::new(limit).queue(queue).discipline(Discipline::Fifo))
}

#[test]
fn exactly_as_many_run_and_wait_as_may_and_the_rest_are_refused() {
    let world = fifo(3, 4);
    let permits = [(); 3].map(|()| world.admitted());
    assert_eq!(permits.each_ref().map(Permit::in_flight), [1, 2, 3]);
    let places = [(); 4].map(|()| world.queued());
    assert_eq!(world.refused().because, RefusedBecause::Full);
    assert_eq!(world.counts(), (3, 4));
    drop((places, permits));
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_place_that_is_free_again_is_free_for_one_more() {
    let world = fifo(1, 2);
    let (permit, first, mut second) = (world.admitted(), world.queued(), world.queued());
    assert_eq!(world.refused().because, RefusedBecause::Full);
    drop(first);
    let mut third = world.queued();
    assert_eq!(world.refused().because, RefusedBecause::Full);
    drop(permit);
    // One request is running and one is waiting, so the queue has space for one more request.
    drop(second.permit());
    drop(third.permit());
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn without_a_queue_nobody_waits() {
    let world = fifo(1, 0);
    let permit = world.admitted();
    assert_eq!(world.refused().because, RefusedBecause::Full);
    drop(permit);
    drop(world.admitted());
}

#[test]
fn those_who_wait_are_served_in_the_order_in_which_they_came() {
    let world = fifo(1, 9);
    let permit = world.admitted();
    let waiting = (0..9).map(|name| (name, world.queued())).collect();
    assert_eq!(order(permit, waiting), (0..9).collect::<Vec<_>>());
}

#[test]
fn nobody_passes_those_who_wait() {
    let world = fifo(1, 2);
    let (permit, mut first) = (world.admitted(), world.queued());
    drop(permit);
    // The permit was granted to the first request, which has not been polled since.
    let mut second = world.queued();
    assert_eq!(world.counts(), (1, 1));
    let permit = first.permit();
    assert!(second.poll().is_none());
    drop(permit);
    drop(second.permit());
}

#[test]
fn a_permit_knows_how_long_it_was_waited_for_and_how_many_ran_then() {
    let world = fifo(2, 2);
    let (first, other) = (world.admitted(), world.admitted());
    assert_eq!((first.waited(), first.given_at(), first.in_flight()), (ms(0), START, 1));
    world.after(ms(10));
    let mut place = world.queued();
    world.after(ms(30));
    drop(first);
    // The wait ends when the permit is granted, not when the permit is collected.
    world.after(ms(100));
    let permit = place.permit();
    assert_eq!((permit.waited(), permit.in_flight()), (ms(30), 2));
    assert_eq!(permit.given_at(), START + ms(40));
    drop(other);
    assert_eq!(permit.gate().snapshot(START).in_flight, 1);
}

#[test]
fn each_release_lets_in_exactly_one() {
    let world = fifo(2, 8);
    let (first, second) = (world.admitted(), world.admitted());
    let mut waiting = [(); 4].map(|()| world.queued());
    let wakes = |waiting: &[Waiting; 4]| waiting.each_ref().map(Waiting::wakes);
    drop(first);
    assert_eq!(wakes(&waiting), [1, 0, 0, 0]);
    drop(second);
    assert_eq!(wakes(&waiting), [1, 1, 0, 0]);
    drop(waiting[0].permit());
    assert_eq!(wakes(&waiting), [1, 1, 1, 0]);
}
