//! Tests of a limit that is changed while requests are running and waiting.

use super::*;
use crate::error::ConfigErrorKind;

fn world(limit: u32, queue: u32) -> World {
    World::new(GateRules::new(limit).queue(queue).discipline(Discipline::Fifo))
}

#[test]
fn a_higher_limit_admits_waiters_at_once_and_in_order() {
    let world = world(1, 9);
    let _permit = world.admitted();
    let mut waiting = [(); 4].map(|()| world.queued());
    world.gate.set_limit(4).unwrap();
    assert_eq!(waiting.each_ref().map(Waiting::wakes), [1, 1, 1, 0]);
    assert_eq!(world.counts(), (4, 1));
    let permits: Vec<_> = waiting.iter_mut().take(3).map(Waiting::permit).collect();
    assert_eq!(permits.iter().map(Permit::in_flight).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(waiting[3].poll().is_none());
}

#[test]
fn a_lower_limit_is_reached_as_running_requests_end() {
    let world = world(4, 9);
    let mut permits = Vec::from([(); 4].map(|()| world.admitted()));
    let mut place = world.queued();
    world.gate.set_limit(2).unwrap();
    for (in_flight, wakes) in [(4, 0), (3, 0), (2, 0), (2, 1)] {
        assert_eq!((world.counts().0, place.wakes()), (in_flight, wakes));
        drop(permits.pop());
    }
    drop((permits, place.permit()));
    assert_eq!(world.counts(), (0, 0));
    let permits = [world.admitted(), world.admitted()];
    drop(world.queued());
    drop(permits);
}

#[test]
fn a_limit_of_0_closes_the_gate_until_there_is_another() {
    let world = world(2, 1);
    let permit = world.admitted();
    world.gate.set_limit(0).unwrap();
    assert_eq!(world.snapshot().limit, Some(0));
    let mut place = world.queued();
    assert_eq!(world.refused().because, RefusedBecause::Full);
    drop(permit);
    assert!(place.poll().is_none());
    assert_eq!(world.counts(), (0, 1));
    world.gate.set_limit(1).unwrap();
    drop(place.permit());
}

#[test]
fn without_a_limit_every_request_runs() {
    let world = world(0, 9);
    let mut waiting = [(); 5].map(|()| world.queued());
    world.gate.set_limit(None).unwrap();
    assert_eq!(world.snapshot().limit, None);
    let permits = waiting.each_mut().map(Waiting::permit);
    let more: Vec<_> = (0..1_000).map(|_| world.admitted()).collect();
    assert_eq!(world.counts(), (1_005, 0));
    world.gate.set_limit(3).unwrap();
    let mut place = world.queued();
    drop(more);
    assert_eq!(world.counts(), (5, 1));
    drop(permits);
    drop(place.permit());
}

#[test]
fn rules_without_a_limit_make_a_gate_without_one() {
    let world = World::new(GateRules::new(1).limit(None));
    let permits = [(); 99].map(|()| world.admitted());
    assert_eq!((permits.len(), world.snapshot().limit), (99, None));
}

#[test]
fn a_limit_that_is_too_high_changes_nothing() {
    let world = world(1, 1);
    let error = world.gate.set_limit(GateRules::MAX_LIMIT + 1).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
    assert_eq!(error.to_string(), "limit is 4194304, expected at most 4194303");
    assert_eq!(world.snapshot().limit, Some(1));
    assert!(world.gate.set_limit(GateRules::MAX_LIMIT).is_ok());
}

#[test]
fn the_fast_path_admits_only_if_a_permit_is_free_and_no_request_waits() {
    let world = world(1, 9);
    assert!(!world.gate.is_shared());
    let permit = world.gate.try_enter(0, START).unwrap();
    assert!(world.gate.is_shared());
    assert_eq!((permit.in_flight(), permit.given_at()), (1, START));
    assert!(world.gate.try_enter(0, START).is_none());
    let mut next = world.queued();
    drop(permit);
    assert!(world.gate.try_enter(0, START).is_none());
    drop(next.permit());
    drop(next);
    assert!(!world.gate.is_shared());
    drop(world.gate.drain(DrainQueue::Serve));
    assert!(world.gate.try_enter(0, START).is_none());
}
