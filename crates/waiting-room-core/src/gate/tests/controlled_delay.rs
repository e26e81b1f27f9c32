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
fn controlled_delay_is_the_default_with_100_ms_and_1_s() {
    let discipline = Discipline::ControlledDelay { target: TARGET, interval: INTERVAL };
    assert_eq!(Discipline::default(), discipline);
}

#[test]
fn an_arrival_within_the_interval_may_wait_for_the_longest_time() {
    let world = world();
    let _permit = world.admitted();
    let first = world.queued();
    assert_eq!(first.place.deadline(), START + MAX_WAIT);
    world.after(INTERVAL);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + INTERVAL + MAX_WAIT);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::TimedOut);
}

#[test]
fn an_arrival_at_a_standing_queue_waits_at_most_the_target() {
    let world = world();
    let _permit = world.admitted();
    let _first = world.queued();
    world.after(OVERLOAD);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + OVERLOAD + TARGET);
    world.after(TARGET);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::Shed);
    assert_eq!(world.snapshot().outcomes.shed, 1);
}

#[test]
fn in_between_the_wait_shrinks_evenly() {
    let world = world();
    let _permit = world.admitted();
    let _first = world.queued();
    world.after(INTERVAL + ms(250));
    let half = (MAX_WAIT + TARGET) / 2;
    assert_eq!(world.queued().place.deadline(), START + INTERVAL + ms(250) + half);
}

#[test]
fn earlier_arrivals_keep_their_deadlines() {
    let world = world();
    let permit = world.admitted();
    let mut first = world.queued();
    world.after(OVERLOAD);
    let mut second = world.queued();
    world.after(TARGET + NANO);
    drop(permit);
    drop(first.permit());
    assert_eq!(second.refusal().because, RefusedBecause::Shed);
}

#[test]
fn an_emptied_queue_is_no_longer_standing() {
    let world = world();
    let permit = world.admitted();
    let mut first = world.queued();
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
    let _permit = world.admitted();
    let _first = world.queued();
    world.after(OVERLOAD);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + OVERLOAD + TARGET);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::TimedOut);
}
