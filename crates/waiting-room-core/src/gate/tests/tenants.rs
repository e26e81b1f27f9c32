//! Tests of the turns that tenants take, and of eviction.

use super::*;

fn world(queue: u32, tenants: Tenants) -> World {
    World::new(GateRules::new(1).queue(queue).discipline(Discipline::FairByTenant(tenants)))
}

fn tenant(tenant: u64) -> Arrival {
    Arrival::default().tenant(tenant)
}

fn waiting(world: &World, tenants: &[u64]) -> Vec<(usize, Waiting)> {
    tenants.iter().map(|name| world.queued_as(tenant(*name))).enumerate().collect()
}

#[test]
fn tenants_take_turns_and_each_is_served_in_order() {
    let world = world(9, Tenants::Each);
    let permit = world.admitted();
    let waiting = waiting(&world, &[7, 7, 7, 3, 3, 9]);
    assert_eq!(order(permit, waiting), [0, 3, 5, 1, 4, 2]);
}

#[test]
fn a_served_tenant_that_returns_goes_to_the_end_of_the_round() {
    let world = world(9, Tenants::Each);
    let permit = world.admitted();
    let mut first = world.queued_as(tenant(7));
    let other = world.queued_as(tenant(3));
    drop(permit);
    let permit = first.permit();
    let again = world.queued_as(tenant(7));
    let twice = world.queued_as(tenant(7));
    let later = world.queued_as(tenant(9));
    let waiting = vec![("other", other), ("again", again), ("twice", twice), ("later", later)];
    assert_eq!(order(permit, waiting), ["other", "again", "later", "twice"]);
}

#[test]
fn a_leaving_waiter_gives_up_its_turn_and_its_tenant_keeps_the_others() {
    let world = world(9, Tenants::Each);
    let permit = world.admitted();
    let mut waiting = waiting(&world, &[7, 3, 7, 9, 9]);
    waiting.retain(|(name, _)| ![0, 1].contains(name));
    assert_eq!(order(permit, waiting), [2, 3, 4]);
}

#[test]
fn a_full_queue_evicts_the_newest_of_the_tenant_with_the_most() {
    let world = world(4, Tenants::Each);
    let permit = world.admitted();
    let mut waiting = waiting(&world, &[7, 7, 7, 3]);
    assert_eq!(world.refused_as(tenant(7)).because, RefusedBecause::Full);
    let newcomer = world.queued_as(tenant(9));
    assert_eq!(waiting.remove(2).1.refusal().because, RefusedBecause::Evicted);
    // Tenant 7 has two requests in the queue, and tenant 3 would also have two with the new
    // request, so an eviction would gain nothing.
    assert_eq!(world.refused_as(tenant(3)).because, RefusedBecause::Full);
    waiting.push((4, newcomer));
    assert_eq!(order(permit, waiting), [0, 3, 4, 1]);
}

#[test]
fn among_equal_tenants_none_is_evicted() {
    let world = world(2, Tenants::Each);
    let _permit = world.admitted();
    let _waiting = waiting(&world, &[7, 3]);
    assert_eq!(world.refused_as(tenant(9)).because, RefusedBecause::Full);
}

#[test]
fn shuffled_a_tenant_with_one_name_has_exactly_eight_turns_in_a_round() {
    let turns = (0..50).map(|elephant| {
        let world = world(999, Tenants::Shuffled);
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
    let world = world(999, Tenants::Shuffled);
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
    let world = world(999, Tenants::Shuffled);
    let permit = world.admitted();
    let waiting: Vec<_> = (0..24).map(|name| (name, world.queued_as(tenant(5)))).collect();
    // The 24 requests fill eight lanes with three requests each, so their turns come in order of
    // arrival.
    assert_eq!(order(permit, waiting), (0..24).collect::<Vec<_>>());
}

#[test]
fn a_tenant_whose_first_waiter_expired_keeps_its_turn() {
    let world = world(9, Tenants::Each);
    let permit = world.admitted();
    let mut late = world.queued_as(tenant(7).deadline(START));
    let mut next = world.queued_as(tenant(7));
    let mut other = world.queued_as(tenant(3));
    world.after(NANO);
    drop(permit);
    assert_eq!(late.refusal().because, RefusedBecause::TimedOut);
    drop(next.permit());
    drop(other.permit());
}
