//! Tests of adaptive LIFO, which serves the newest request first while there is a standing queue.

use super::*;

const INTERVAL: Duration = ms(1_000);

fn world(queue: u32) -> World {
    let discipline = Discipline::AdaptiveLifo { interval: INTERVAL };
    World::new(GateRules::new(1).queue(queue).discipline(discipline))
}

#[test]
fn a_queue_that_is_not_standing_is_served_from_its_head() {
    let world = world(4);
    let permit = world.admitted();
    let waiting = (0..4).map(|name| (name, world.queued())).collect();
    world.after(INTERVAL);
    assert_eq!(order(permit, waiting), [0, 1, 2, 3]);
}

#[test]
fn a_standing_queue_is_served_from_its_end() {
    let world = world(4);
    let permit = world.admitted();
    let waiting = (0..4).map(|name| (name, world.queued())).collect();
    world.after(INTERVAL + NANO);
    assert_eq!(order(permit, waiting), [3, 2, 1, 0]);
}

#[test]
fn an_emptied_queue_is_served_from_its_head_again() {
    let world = world(4);
    let permit = world.admitted();
    let mut first = world.queued();
    world.after(INTERVAL + NANO);
    drop(permit);
    let permit = first.permit();
    let waiting = (0..2).map(|name| (name, world.queued())).collect();
    assert_eq!(order(permit, waiting), [0, 1]);
}

#[test]
fn a_full_queue_evicts_the_oldest_waiter() {
    let world = world(2);
    let permit = world.admitted();
    let mut oldest = world.queued();
    let mut second = world.queued();
    let mut third = world.queued();
    assert_eq!(oldest.wakes(), 1);
    let refused = oldest.refusal();
    assert_eq!(refused.because, RefusedBecause::Evicted);
    assert!(refused.retry_after.is_some());
    assert_eq!((second.wakes(), third.wakes()), (0, 0));
    assert_eq!(world.counts(), (1, 2));
    let outcomes = world.snapshot().outcomes;
    assert_eq!((outcomes.queued, outcomes.evicted, outcomes.full), (3, 1, 0));
    drop(permit);
    drop(second.permit());
    drop(third.permit());
}
