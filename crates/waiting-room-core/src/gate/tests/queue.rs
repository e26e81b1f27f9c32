//! Tests of the bound on the queue, and of the order of the queue under FIFO.

use super::*;

fn fifo(limit: u32, queue: u32) -> World {
    World::new(GateRules::new(limit).queue(queue).discipline(Discipline::Fifo))
}

#[test]
fn requests_beyond_the_limit_and_the_queue_are_refused() {
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
fn a_freed_place_is_free_for_one_more() {
    let world = fifo(1, 2);
    let permit = world.admitted();
    let first = world.queued();
    let mut second = world.queued();
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
fn without_a_queue_no_request_waits() {
    let world = fifo(1, 0);
    let permit = world.admitted();
    assert_eq!(world.refused().because, RefusedBecause::Full);
    drop(permit);
    drop(world.admitted());
}

#[test]
fn waiters_are_served_in_order_of_arrival() {
    let world = fifo(1, 9);
    let permit = world.admitted();
    let waiting = (0..9).map(|name| (name, world.queued())).collect();
    assert_eq!(order(permit, waiting), (0..9).collect::<Vec<_>>());
}

#[test]
fn no_arrival_overtakes_the_queue() {
    let world = fifo(1, 2);
    let permit = world.admitted();
    let mut first = world.queued();
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
fn a_permit_knows_its_wait_and_the_number_of_running_requests() {
    let world = fifo(2, 2);
    let first = world.admitted();
    let other = world.admitted();
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
fn each_release_admits_exactly_one_waiter() {
    let world = fifo(2, 8);
    let first = world.admitted();
    let second = world.admitted();
    let mut waiting = [(); 4].map(|()| world.queued());
    let wakes = |waiting: &[Waiting; 4]| waiting.each_ref().map(Waiting::wakes);
    drop(first);
    assert_eq!(wakes(&waiting), [1, 0, 0, 0]);
    drop(second);
    assert_eq!(wakes(&waiting), [1, 1, 0, 0]);
    drop(waiting[0].permit());
    assert_eq!(wakes(&waiting), [1, 1, 1, 0]);
}
