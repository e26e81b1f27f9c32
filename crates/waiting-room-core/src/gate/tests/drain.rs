//! Tests of draining a gate, and of waiting for the gate to become idle.

use super::*;

fn world() -> World {
    World::new(GateRules::new(1).discipline(Discipline::Fifo))
}

fn is_ready(idle: &mut Idle, wakes: &Arc<WakeList>) -> bool {
    poll(idle, wakes).is_ready()
}

#[test]
fn drained_a_gate_refuses_those_who_come_and_those_who_wait() {
    let world = world();
    let (permit, mut waiting) = (world.admitted(), [(); 3].map(|()| world.queued()));
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
fn those_who_wait_have_their_turn_if_they_are_to() {
    let world = world();
    let permit = world.admitted();
    let waiting = (0..3).map(|name| (name, world.queued())).collect();
    let (mut idle, wakes) = (world.gate.drain(DrainQueue::Serve), Arc::default());
    assert_eq!(world.refused().because, RefusedBecause::Drained);
    assert!(!is_ready(&mut idle, &wakes));
    assert_eq!(order(permit, waiting), [0, 1, 2]);
    assert_eq!(wakes.count(), 1);
    assert!(is_ready(&mut idle, &wakes));
}

#[test]
fn who_is_inside_of_another_gate_has_its_turn_as_long_as_those_who_wait_have() {
    let world = world();
    let inside = Arrival::default().inside();
    let (permit, first) = (world.admitted(), world.queued());
    let _idle = world.gate.drain(DrainQueue::Serve);
    let second = world.queued_as(inside);
    assert_eq!(order(permit, vec![(0, first), (1, second)]), [0, 1]);
    drop(world.admitted_as(inside));
    assert_eq!(world.refused().because, RefusedBecause::Drained);
    let _idle = world.gate.drain(DrainQueue::Refuse);
    assert_eq!(world.refused_as(inside).because, RefusedBecause::Drained);
}

#[test]
fn a_gate_is_idle_when_nobody_runs_and_nobody_waits() {
    let world = world();
    let (permit, place) = (world.admitted(), world.queued());
    let (mut idle, wakes) = (world.gate.drain(DrainQueue::Serve), Arc::default());
    assert!(!is_ready(&mut idle, &wakes));
    drop(place);
    assert!(!is_ready(&mut idle, &wakes));
    assert_eq!(wakes.count(), 0);
    drop(permit);
    assert_eq!(wakes.count(), 1);
    assert!(is_ready(&mut idle, &wakes));
}

#[test]
fn who_leaves_the_queue_last_ends_the_wait_as_well() {
    let world = world();
    for is_timed_out in [false, true] {
        world.gate.set_limit(0).unwrap();
        world.gate.open();
        let place = world.queued();
        let (mut idle, wakes) = (world.gate.drain(DrainQueue::Serve), Arc::default());
        assert!(!is_ready(&mut idle, &wakes));
        match is_timed_out {
            true => assert!(place.place.time_out().is_err()),
            false => drop(place),
        }
        assert_eq!(wakes.count(), 1);
        assert!(is_ready(&mut idle, &wakes));
    }
}

#[test]
fn a_permit_that_was_given_and_not_taken_keeps_a_gate_from_being_idle() {
    let world = world();
    let (permit, place) = (world.admitted(), world.queued());
    let (mut idle, wakes) = (world.gate.drain(DrainQueue::Serve), Arc::default());
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
fn everybody_who_waits_for_it_is_woken_by_its_last_waker() {
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
    let counts = [&before, &first.1, &second.1, &third.1].map(|it| it.count());
    assert_eq!(counts, [0, 1, 0, 1]);
    assert!(world.snapshot().is_draining);
}

#[test]
fn opened_again_a_gate_lets_people_in_and_waits_for_the_next_time() {
    let world = world();
    let permit = world.admitted();
    let (mut idle, wakes) = (world.gate.drain(DrainQueue::Refuse), Arc::default());
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
fn a_gate_that_is_drained_by_lowering_its_limit_first_is_idle_with_its_last_permit() {
    let world = World::new(GateRules::new(3));
    let permits = [(); 3].map(|()| world.admitted());
    world.gate.set_limit(0).unwrap();
    let (mut idle, wakes) = (world.gate.drain(DrainQueue::Serve), Arc::default());
    assert!(!is_ready(&mut idle, &wakes));
    drop(permits);
    assert_eq!(wakes.count(), 1);
}
