//! Tests of the deadlines of waiting requests, and of refusals after a deadline.

use super::*;

const MAX_WAIT: Duration = ms(1_000);

fn world() -> World {
    World::new(GateRules::new(1).max_wait(MAX_WAIT).discipline(Discipline::Fifo))
}

#[test]
fn a_permit_that_comes_exactly_at_the_deadline_is_used() {
    let world = world();
    let permit = world.admitted();
    let mut place = world.queued();
    assert_eq!(place.place.deadline(), START + MAX_WAIT);
    world.after(MAX_WAIT);
    drop(permit);
    assert_eq!(place.wakes(), 1);
    assert_eq!(place.permit().waited(), MAX_WAIT);
}

#[test]
fn a_permit_that_comes_a_nanosecond_later_goes_to_the_next() {
    let world = world();
    let permit = world.admitted();
    let mut late = world.queued();
    world.after(NANO);
    let mut next = world.queued();
    world.after(MAX_WAIT);
    drop(permit);
    let refused = late.refusal();
    assert_eq!((refused.because, refused.retry_after), (RefusedBecause::TimedOut, None));
    assert_eq!((late.wakes(), next.wakes()), (1, 1));
    drop(next.permit());
    assert_eq!(world.snapshot().outcomes.timed_out, 1);
}

#[test]
fn all_expired_waiters_are_refused_at_the_next_release() {
    let world = world();
    let permit = world.admitted();
    let mut waiting = [(); 5].map(|()| world.queued());
    world.after(MAX_WAIT + NANO);
    drop(permit);
    assert_eq!(
        waiting.each_mut().map(|place| place.refusal().because),
        [RefusedBecause::TimedOut; 5]
    );
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn a_time_out_frees_the_place() {
    let world = world();
    let _permit = world.admitted();
    let place = world.queued();
    let _next = world.queued();
    world.after(MAX_WAIT);
    assert_eq!(place.place.time_out().unwrap_err().because, RefusedBecause::TimedOut);
    assert_eq!(place.wakes.count(), 0, "a request that times out by itself is not woken");
    assert_eq!(world.counts(), (1, 1));
    let outcomes = world.snapshot().outcomes;
    assert_eq!((outcomes.timed_out, outcomes.cancelled), (1, 0));
}

#[test]
fn a_permit_that_was_given_before_the_time_out_is_used() {
    let world = world();
    let permit = world.admitted();
    let place = world.queued();
    world.after(MAX_WAIT);
    drop(permit);
    world.after(MAX_WAIT);
    let permit = place.place.time_out().expect("the permit was granted before the time-out");
    assert_eq!((permit.waited(), world.counts()), (MAX_WAIT, (1, 0)));
    drop(permit);
    assert_eq!(world.counts(), (0, 0));
    let outcomes = world.snapshot().outcomes;
    assert_eq!((outcomes.granted, outcomes.timed_out), (1, 0));
}

#[test]
fn a_refusal_before_the_time_out_keeps_its_reason() {
    let world = world();
    let _permit = world.admitted();
    let place = world.queued();
    let _idle = world.gate.drain(DrainQueue::Refuse);
    assert_eq!(place.place.time_out().unwrap_err().because, RefusedBecause::Drained);
}

#[test]
fn an_earlier_client_deadline_bounds_the_wait() {
    let world = world();
    let permit = world.admitted();
    let deadline = START + ms(300);
    let mut hasty = world.queued_as(Arrival::default().deadline(deadline));
    let patient = world.queued_as(Arrival::default().deadline(START + MAX_WAIT + NANO));
    assert_eq!((hasty.place.deadline(), patient.place.deadline()), (deadline, START + MAX_WAIT));
    world.after(ms(300) + NANO);
    drop(permit);
    assert_eq!(hasty.refusal().because, RefusedBecause::TimedOut);
}

#[test]
fn an_expired_client_deadline_refuses_at_once() {
    let world = world();
    let _permit = world.admitted();
    let at = |deadline| Arrival::default().deadline(deadline);
    assert_eq!(world.refused_as(at(START.before(NANO))).because, RefusedBecause::Shed);
    drop(world.queued_as(at(START)));
}

#[test]
fn a_client_has_time_left_to_run_when_its_turn_comes() {
    let world = world();
    world.learns(ms(100));
    let _permit = world.admitted();
    let _first = world.queued();
    let at = world.gate.now() + ms(600);
    let place = world.queued_as(Arrival::default().deadline(at));
    assert_eq!(place.place.deadline(), at.before(ms(100)));
}

#[test]
fn under_overload_the_first_client_deadline_times_out_and_sheds_none() {
    let discipline = Discipline::ControlledDelay { target: ms(100), interval: ms(10) };
    let world = World::new(GateRules::new(1).discipline(discipline));
    let _permit = world.admitted();
    let _first = world.queued();
    world.after(ms(15));
    let at = |millis| Arrival::default().deadline(world.gate.now() + ms(millis));
    for (millis, because) in [
        (99, RefusedBecause::TimedOut),
        (100, RefusedBecause::TimedOut),
        (101, RefusedBecause::Shed),
    ] {
        let place = world.queued_as(at(millis)).place;
        assert_eq!(place.time_out().unwrap_err().because, because, "{millis} ms");
    }
}
