//! Tests of priority classes: order, aging, reserved permits, and eviction.

use super::*;

fn world(limit: u32, queue: u32, reserved: &[u32]) -> World {
    let discipline = Discipline::Priority { reserved: reserved.to_vec(), aging: ms(1_000) };
    World::new(GateRules::new(limit).queue(queue).discipline(discipline))
}

fn class(class: u8) -> Arrival {
    Arrival::default().class(class)
}

fn waiting(world: &World, classes: &[u8]) -> Vec<(usize, Waiting)> {
    classes.iter().map(|number| world.queued_as(class(*number))).enumerate().collect()
}

#[test]
fn the_lowest_number_goes_first_and_each_class_in_order_of_arrival() {
    let world = world(1, 9, &[0, 0, 0]);
    let permit = world.admitted();
    let waiting = waiting(&world, &[2, 1, 0, 2, 0, 1]);
    assert_eq!(order(permit, waiting), [2, 4, 1, 5, 0, 3]);
}

#[test]
fn an_unknown_class_counts_as_the_last() {
    let world = world(1, 9, &[0, 0]);
    let permit = world.admitted_as(class(255));
    let waiting = waiting(&world, &[7, 1, 0, 255]);
    assert_eq!(order(permit, waiting), [2, 0, 1, 3]);
}

#[test]
fn each_aging_interval_promotes_a_waiter_by_one_class() {
    for (waited, expected) in [(ms(1_000), [1, 0]), (ms(2_000) - NANO, [1, 0]), (ms(2_000), [0, 1])]
    {
        let world = world(1, 9, &[0, 0]);
        let permit = world.admitted();
        let mut waiting = vec![(0, world.queued_as(class(1)))];
        world.after(waited);
        waiting.push((1, world.queued_as(class(0))));
        // An older request that counts as one class lower ties with the newcomer, and the newcomer
        // goes first because its own class number is lower.
        assert_eq!(order(permit, waiting), expected, "{waited:?}");
    }
}

#[test]
fn a_steady_stream_of_a_better_class_starves_no_waiter() {
    let world = world(1, 9, &[0, 0, 0]);
    let mut running = world.admitted();
    let mut patient = world.queued_as(class(2));
    for second in 0..=3 {
        let mut better = world.queued();
        world.after(ms(1_000));
        drop(running);
        match patient.poll() {
            Some(permit) => {
                assert!(permit.is_ok());
                assert_eq!(second, 3);
                return;
            }
            None => running = better.permit(),
        }
    }
    panic!("the request was not served within three seconds");
}

#[test]
fn a_share_that_is_reserved_is_served_first() {
    let world = world(2, 9, &[0, 1]);
    let first = world.admitted();
    let second = world.admitted();
    let mut best = world.queued_as(class(0));
    let mut reserved = world.queued_as(class(1));
    let mut more = world.queued_as(class(1));
    drop(first);
    // No request of class 1 is running, and one permit is reserved for class 1.
    let reserved = reserved.permit();
    assert!(best.poll().is_none());
    drop(second);
    // The reserved permit of class 1 is now in use, so the request with the lower class number goes
    // first.
    let best = best.permit();
    assert!(more.poll().is_none());
    drop(reserved);
    drop(more.permit());
    drop(best);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn an_unused_reserved_share_is_lent() {
    let world = world(2, 9, &[0, 2]);
    let permits = [world.admitted(), world.admitted()];
    let mut best = world.queued();
    drop(permits);
    drop(best.permit());
}

#[test]
fn every_running_request_counts_for_its_class() {
    // A running request counts for its class whether it ran immediately or waited first. A request
    // no longer counts after its permit has been released.
    let world = world(2, 9, &[0, 1]);
    let own = world.admitted_as(class(1));
    let other = world.admitted();
    let mut best = world.queued();
    let mut second = world.queued_as(class(1));
    drop(other);
    let best = best.permit();
    assert!(second.poll().is_none());
    let mut third = world.queued();
    drop(own);
    let second = second.permit();
    let mut fourth = world.queued_as(class(1));
    drop(best);
    let third = third.permit();
    drop(second);
    drop((fourth.permit(), third));
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_full_queue_evicts_the_newest_of_the_last_class_for_a_better_one() {
    let world = world(1, 4, &[0, 0, 0]);
    let permit = world.admitted();
    let mut waiting = waiting(&world, &[2, 2, 1, 1]);
    // No request is evicted in favour of another request of its own class.
    assert_eq!(world.refused_as(class(2)).because, RefusedBecause::Full);
    let mut told = |name: usize| waiting[name].1.refusal().because;
    let better = world.queued_as(class(1));
    assert_eq!(told(1), RefusedBecause::Evicted);
    let best = world.queued_as(class(0));
    assert_eq!(told(0), RefusedBecause::Evicted);
    assert_eq!(world.refused_as(class(1)).because, RefusedBecause::Full);
    let second_best = world.queued_as(class(0));
    waiting.extend([(4, better), (5, best), (6, second_best)]);
    assert_eq!(waiting[4].1.refusal().because, RefusedBecause::Evicted);
    let waiting = waiting.into_iter().filter(|(name, _)| ![0, 1, 4].contains(name)).collect();
    assert_eq!(order(permit, waiting), [5, 6, 2, 3]);
    assert_eq!(world.snapshot().outcomes.evicted, 3);
}

#[test]
fn a_crowd_of_a_better_class_does_not_keep_a_reserved_share_out_of_the_queue() {
    let world = world(2, 3, &[0, 1]);
    let permits = [world.admitted(), world.admitted()];
    let mut crowd = waiting(&world, &[0, 0, 0]);
    let mut reserved = world.queued_as(class(1));
    assert_eq!(crowd.pop().unwrap().1.refusal().because, RefusedBecause::Evicted);
    // The class can always have as many requests in the queue as it has reserved permits, but no
    // more.
    assert_eq!(world.refused_as(class(0)).because, RefusedBecause::Full);
    assert_eq!(world.refused_as(class(1)).because, RefusedBecause::Full);
    drop(permits);
    drop(reserved.permit());
}

#[test]
fn a_reserved_share_is_not_shed_for_the_classes_behind_it() {
    let rules = GateRules::new(1).max_wait(ms(1_000)).queue(99);
    let discipline = Discipline::Priority { reserved: vec![0, 1], aging: ms(60_000) };
    let world = World::new(rules.discipline(discipline));
    world.learns(ms(100));
    let permit = world.admitted();
    let _crowd: Vec<_> = (0..10).map(|_| world.queued()).collect();
    // One more request of class 0 would be served too late. Permits are reserved for class 1 so
    // that its requests can be served in this situation.
    assert_eq!(world.refused().because, RefusedBecause::Shed);
    let mut reserved = world.queued_as(class(1));
    drop(permit);
    drop(reserved.permit());
}
