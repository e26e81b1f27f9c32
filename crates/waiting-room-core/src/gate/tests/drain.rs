//! Tests of draining a gate, and of waiting for the gate to become idle.

use super::*;

fn world() -> World {
    World::new(GateRules::new(1).discipline(Discipline::Fifo))
}

fn is_ready(idle: &mut Idle, wakes: &Arc<WakeList>) -> bool {
    poll(idle, wakes).is_ready()
}

#[test]
fn a_drained_gate_refuses_arrivals_and_waiters() {
    let world = world();
    let permit = world.admitted();
    let mut waiting = [(); 3].map(|()| world.queued());
    let _idle = world.gate.drain(DrainQueue::Refuse);
    for it in &mut waiting {
        assert_eq!(it.wakes(), 1);
        let refused = it.refusal();
        assert_eq!((refused.because, refused.retry_after), (RefusedBecause::Drained, None));
    }
    assert_eq!(world.refused().because, RefusedBecause::Drained);
    assert_eq!(world.counts(), (1, 0));
    drop(permit);
    // A gate that is being drained still refuses requests after it has become idle.
    assert_eq!(world.refused().because, RefusedBecause::Drained);
    assert_eq!(world.snapshot().outcomes.drained, 5);
}

#[test]
fn a_drain_can_serve_the_waiters() {
    let world = world();
    let permit = world.admitted();
    let waiting = (0..3).map(|name| (name, world.queued())).collect();
    let mut idle = world.gate.drain(DrainQueue::Serve);
    let wakes = Arc::default();
    assert_eq!(world.refused().because, RefusedBecause::Drained);
    assert!(!is_ready(&mut idle, &wakes));
    assert_eq!(order(permit, waiting), [0, 1, 2]);
    assert_eq!(wakes.count(), 1);
    assert!(is_ready(&mut idle, &wakes));
}

#[test]
fn a_request_inside_another_gate_is_served_like_the_waiters() {
    let world = world();
    let inside = Arrival::default().inside();
    let permit = world.admitted();
    let first = world.queued();
    let _idle = world.gate.drain(DrainQueue::Serve);
    let second = world.queued_as(inside);
    assert_eq!(order(permit, vec![(0, first), (1, second)]), [0, 1]);
    drop(world.admitted_as(inside));
    assert_eq!(world.refused().because, RefusedBecause::Drained);
    let _idle = world.gate.drain(DrainQueue::Refuse);
    assert_eq!(world.refused_as(inside).because, RefusedBecause::Drained);
}

#[test]
fn a_gate_is_idle_when_no_request_runs_or_waits() {
    let world = world();
    let permit = world.admitted();
    let place = world.queued();
    let mut idle = world.gate.drain(DrainQueue::Serve);
    let wakes = Arc::default();
    assert!(!is_ready(&mut idle, &wakes));
    drop(place);
    assert!(!is_ready(&mut idle, &wakes));
    assert_eq!(wakes.count(), 0);
    drop(permit);
    assert_eq!(wakes.count(), 1);
    assert!(is_ready(&mut idle, &wakes));
}

#[test]
fn the_last_waiter_to_leave_makes_the_gate_idle() {
    let world = world();
    for is_timed_out in [false, true] {
        world.gate.set_limit(0).unwrap();
        world.gate.open();
        let place = world.queued();
        let mut idle = world.gate.drain(DrainQueue::Serve);
        let wakes = Arc::default();
        assert!(!is_ready(&mut idle, &wakes));
        if is_timed_out {
            assert!(place.place.time_out().is_err())
        } else {
            drop(place)
        }
        assert_eq!(wakes.count(), 1);
        assert!(is_ready(&mut idle, &wakes));
    }
}

#[test]
fn a_granted_permit_that_was_not_taken_keeps_a_gate_from_being_idle() {
    let world = world();
    let permit = world.admitted();
    let place = world.queued();
    let mut idle = world.gate.drain(DrainQueue::Serve);
    let wakes = Arc::default();
    drop(permit);
    assert!(!is_ready(&mut idle, &wakes));
    drop(place);
    assert!(is_ready(&mut idle, &wakes));
}

#[test]
fn an_empty_gate_is_idle_at_once() {
    let world = world();
    let mut idle = world.gate.drain(DrainQueue::Refuse);
    assert!(is_ready(&mut idle, &Arc::default()));
    assert!(world.snapshot().is_draining);
}

#[test]
fn every_future_that_awaits_idle_is_woken_by_its_last_waker() {
    let world = world();
    let permit = world.admitted();
    let mut idles = [(); 3].map(|()| (world.gate.drain(DrainQueue::Serve), Arc::default()));
    let before = Arc::default();
    assert!(!is_ready(&mut idles[0].0, &before));
    assert!(idles.iter_mut().all(|(idle, wakes)| !is_ready(idle, wakes)));
    let [first, second, third] = idles;
    // A dropped future is not woken, and dropping it does not end the drain.
    drop(second.0);
    drop(permit);
    let counts = [&before, &first.1, &second.1, &third.1].map(|waker| waker.count());
    assert_eq!(counts, [0, 1, 0, 1]);
    assert!(world.snapshot().is_draining);
}

#[test]
fn a_reopened_gate_admits_again_and_can_become_idle_again() {
    let world = world();
    let permit = world.admitted();
    let mut idle = world.gate.drain(DrainQueue::Refuse);
    let wakes = Arc::default();
    assert!(!is_ready(&mut idle, &wakes));
    world.gate.open();
    let mut place = world.queued();
    drop(permit);
    drop(place.permit());
    assert!(!is_ready(&mut idle, &wakes), "the gate is empty, but open");
    drop(world.gate.drain(DrainQueue::Refuse));
    assert_eq!(wakes.count(), 1);
    assert!(is_ready(&mut idle, &wakes));
}

#[test]
fn draining_by_lowering_the_limit_makes_a_gate_idle_with_its_last_permit() {
    let world = World::new(GateRules::new(3));
    let permits = [(); 3].map(|()| world.admitted());
    world.gate.set_limit(0).unwrap();
    let mut idle = world.gate.drain(DrainQueue::Serve);
    let wakes = Arc::default();
    assert!(!is_ready(&mut idle, &wakes));
    drop(permits);
    assert_eq!(wakes.count(), 1);
}
