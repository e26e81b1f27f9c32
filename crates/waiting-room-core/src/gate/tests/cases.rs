//! Cases that the random tests do not cover, such as exact borders, large crowds and errors, and
//! the cases that the promises name.

use super::*;
use crate::error::ConfigErrorKind;

const TARGET: Duration = ms(100);
const INTERVAL: Duration = ms(1_000);

fn fifo(limit: u32) -> World {
    World::new(GateRules::new(limit).discipline(Discipline::Fifo))
}

fn shuffled() -> World {
    World::new(GateRules::new(1).discipline(Discipline::FairByTenant(Tenants::Shuffled)))
}

fn tenant(tenant: u64) -> Arrival {
    Arrival::default().tenant(tenant)
}

#[test]
fn a_queue_that_is_not_standing_is_served_from_its_head() {
    let discipline = Discipline::AdaptiveLifo { interval: INTERVAL };
    let world = World::new(GateRules::new(1).discipline(discipline));
    let permit = world.admitted();
    let waiting = (0..4).map(|name| (name, world.queued())).collect();
    world.after(INTERVAL);
    assert_eq!(order(permit, waiting), [0, 1, 2, 3]);
}

#[test]
fn controlled_delay_is_the_default_with_100_ms_and_1_s() {
    let discipline = Discipline::ControlledDelay { target: TARGET, interval: INTERVAL };
    assert_eq!(Discipline::default(), discipline);
}

#[test]
fn an_arrival_at_a_standing_queue_waits_at_most_the_target() {
    let world = World::new(GateRules::new(1));
    let _permit = world.admitted();
    let _first = world.queued();
    // The longest wait has decreased to the target.
    let overload = INTERVAL * 3 / 2;
    world.after(overload);
    let second = world.queued();
    assert_eq!(second.place.deadline(), START + overload + TARGET);
    world.after(TARGET);
    assert_eq!(second.place.time_out().unwrap_err().because, RefusedBecause::Shed);
    assert_eq!(world.snapshot().outcomes.shed, 1);
}

#[test]
fn an_expired_client_deadline_refuses_at_once() {
    let world = fifo(1);
    let _permit = world.admitted();
    let at = |deadline| Arrival::default().deadline(deadline);
    assert_eq!(world.refused_as(at(START.before(NANO))).because, RefusedBecause::Shed);
    drop(world.queued_as(at(START)));
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

#[test]
fn rules_without_a_limit_make_a_gate_without_one() {
    let world = World::new(GateRules::new(1).limit(None));
    let permits = [(); 99].map(|()| world.admitted());
    assert_eq!((permits.len(), world.snapshot().limit), (99, None));
}

#[test]
fn a_limit_that_is_too_high_changes_nothing() {
    let world = fifo(1);
    let error = world.gate.set_limit(GateRules::MAX_LIMIT + 1).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
    assert_eq!(error.to_string(), "limit is 4194304, expected at most 4194303");
    assert_eq!(world.snapshot().limit, Some(1));
    assert!(world.gate.set_limit(GateRules::MAX_LIMIT).is_ok());
}

#[test]
fn the_fast_path_admits_only_if_a_permit_is_free_and_no_request_waits() {
    let world = fifo(1);
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

#[test]
fn shuffled_a_tenant_with_one_name_has_exactly_eight_turns_in_a_round() {
    let turns = (0..50).map(|elephant| {
        let world = shuffled();
        let permit = world.admitted();
        let all = (0..80).map(|_| ('e', world.queued_as(tenant(elephant))));
        let mut waiting: Vec<_> = all.collect();
        waiting.push(('m', world.queued_as(tenant(1_000))));
        order(permit, waiting).iter().position(|name| *name == 'm').unwrap()
    });
    // The large tenant (the elephant) uses eight lanes. The small tenant (the mouse) shares none,
    // one or two of these lanes.
    let turns: Vec<_> = turns.collect();
    assert_eq!(turns.iter().max(), Some(&8), "{turns:?}");
}

#[test]
fn shuffled_a_few_busy_tenants_do_not_stand_in_the_way_of_the_others() {
    let world = shuffled();
    let permit = world.admitted();
    let busy = (0..400).map(|name| world.queued_as(tenant(name % 4)));
    let mut waiting: Vec<_> = busy.map(|place| (0, place)).collect();
    waiting.extend((10..30).map(|name| (name, world.queued_as(tenant(name)))));
    let served = order(permit, waiting);
    // The twenty requests of the other tenants are all served in the first round, together with one
    // request from each lane of the four busy tenants, which use eight lanes each.
    let last = served.iter().rposition(|name| *name > 0).unwrap();
    assert!(last < 4 * 8 + 20, "{last}");
}

#[test]
fn shuffled_each_name_joins_the_shortest_of_its_lanes() {
    let world = shuffled();
    let permit = world.admitted();
    let waiting: Vec<_> = (0..24).map(|name| (name, world.queued_as(tenant(5)))).collect();
    // The 24 requests fill eight lanes with three requests each, so their turns come in order of
    // arrival.
    assert_eq!(order(permit, waiting), (0..24).collect::<Vec<_>>());
}

#[test]
fn a_tenant_that_fills_the_queue_makes_room_for_others_and_is_served_when_alone() {
    let world = World::new(GateRules::new(1).queue(16));
    let permit = world.admitted_as(tenant(7));
    let mut flood: Vec<_> = (0..16).map(|_| (7, world.queued_as(tenant(7)))).collect();
    let people: Vec<_> = (1..=4).map(|name| (name, world.queued_as(tenant(name)))).collect();
    assert_eq!(world.refused_as(tenant(7)).because, RefusedBecause::Full);
    for (_, mut evicted) in flood.split_off(12) {
        let refused = evicted.poll().unwrap().unwrap_err();
        assert_eq!(refused.because, RefusedBecause::Evicted);
    }
    flood.extend(people);
    let served = order(permit, flood);
    assert_eq!(served[..6], [7, 7, 1, 2, 3, 4], "two are an eighth of the queue");
    assert_eq!(served[6..], [7; 10]);
}
