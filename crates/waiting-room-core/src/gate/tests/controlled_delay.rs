//! Tests of controlled delay, which allows long waits during a burst but only short waits while
//! there is a standing queue.

use super::*;

const TARGET: Duration = ms(100);
const INTERVAL: Duration = ms(1_000);
const MAX_WAIT: Duration = ms(5_000);
/// The time for which a queue has to be non-empty until the longest wait has decreased to the
/// target.
const OVERLOAD: Duration = ms(1_500);

fn world() -> World {
    World::new(GateRules::new(1))
}

#[test]
fn it_is_the_default_with_100_ms_and_1_s() {
    let discipline = Discipline::ControlledDelay { target: TARGET, interval: INTERVAL };
    assert_eq!(Discipline::default(), discipline);
}

#[test]
fn who_comes_within_the_interval_may_wait_for_as_long_as_anybody() {
    let world = world();
    let (_permit, first) = (world.admitted(), world.queued());
    assert_eq!(first.place.deadline(), START + MAX_WAIT);
    world.after(INTERVAL);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + INTERVAL + MAX_WAIT);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::TimedOut);
}

#[test]
fn who_comes_to_a_standing_queue_waits_no_longer_than_the_target() {
    let world = world();
    let (_permit, _first) = (world.admitted(), world.queued());
    world.after(OVERLOAD);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + OVERLOAD + TARGET);
    world.after(TARGET);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::Shed);
    assert_eq!(world.snapshot().outcomes.shed, 1);
}

#[test]
fn between_the_two_the_wait_becomes_shorter_evenly() {
    let world = world();
    let (_permit, _first) = (world.admitted(), world.queued());
    world.after(INTERVAL + ms(250));
    let half = (MAX_WAIT + TARGET) / 2;
    assert_eq!(world.queued().place.deadline(), START + INTERVAL + ms(250) + half);
}

#[test]
fn who_was_there_before_keeps_the_time_it_was_given() {
    let world = world();
    let (permit, mut first) = (world.admitted(), world.queued());
    world.after(OVERLOAD);
    let mut second = world.queued();
    world.after(TARGET + NANO);
    drop(permit);
    drop(first.permit());
    assert_eq!(second.refusal().because, RefusedBecause::Shed);
}

#[test]
fn a_queue_that_was_empty_stands_no_longer() {
    let world = world();
    let (permit, mut first) = (world.admitted(), world.queued());
    world.after(ms(4_000));
    drop(permit);
    let _running = first.permit();
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + ms(4_000) + MAX_WAIT);
    drop(second);
    // The queue becomes empty when its last request is cancelled, just as when its last request is
    // served.
    assert_eq!(world.queued().place.deadline(), START + ms(4_000) + MAX_WAIT);
}

#[test]
fn a_target_that_is_longer_than_the_longest_wait_changes_nothing() {
    let world = World::new(GateRules::new(1).max_wait(TARGET));
    let (_permit, _first) = (world.admitted(), world.queued());
    world.after(OVERLOAD);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + OVERLOAD + TARGET);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::TimedOut);
}
