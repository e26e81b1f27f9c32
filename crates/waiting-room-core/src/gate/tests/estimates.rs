//! Tests of expected waits, of the times at which clients should come back, and of snapshots.

use super::*;

fn rules() -> GateRules {
    GateRules::new(1).max_wait(ms(1_000)).discipline(Discipline::Fifo)
}

#[test]
fn an_arrival_that_would_wait_too_long_is_refused_at_once() {
    let world = World::new(rules());
    world.learns(ms(300));
    let _permit = world.admitted();
    let _first = world.queued();
    let _second = world.queued();
    // The third request in the queue is served after 900 ms. A fourth request would be served after
    // 1200 ms, which is too late.
    let third = world.queued();
    let refused = world.refused();
    assert_eq!(refused.because, RefusedBecause::Shed);
    assert!(refused.retry_after.is_some());
    drop(third);
    drop(world.queued());
    assert_eq!(world.snapshot().outcomes.shed, 1);
}

#[test]
fn before_any_measurement_every_arrival_may_wait() {
    let world = World::new(rules());
    let _permit = world.admitted();
    let places: Vec<_> = (0..1_024).map(|_| world.queued()).collect();
    assert_eq!((world.refused().because, places.len()), (RefusedBecause::Full, 1_024));
}

#[test]
fn estimates_from_a_bad_hour_do_not_keep_the_queue_closed() {
    // Requests have run for 900 ms each, so by this estimate no client that waits for up to 500 ms
    // could be served.
    let world = World::new(rules());
    world.learns(ms(900));
    let hasty = || Arrival::default().deadline(world.gate.now() + ms(500));
    // Requests now run for a millisecond each, but this run time can be measured only while a
    // request is waiting.
    for _ in 0..1_000 {
        let permit = world.admitted();
        let entered = world.enter(hasty());
        world.after(ms(1));
        drop(permit);
        drop(entered);
    }
    let permit = world.admitted();
    let mut first = world.queued_as(hasty());
    let mut second = world.queued_as(hasty());
    drop(permit);
    drop(first.permit());
    drop(second.permit());
}

#[test]
fn a_higher_limit_does_not_close_the_queue_to_clients_with_deadlines() {
    // By Little's law, if 200 permits had the service rate of one permit, each permit would be held
    // 200 times as long. The gate must not mistake that duration for the run time.
    let world = World::new(rules());
    world.learns(ms(100));
    world.gate.set_limit(200).unwrap();
    let permits: Vec<_> = (0..200).map(|_| world.admitted()).collect();
    let hasty = Arrival::default().deadline(world.gate.now() + ms(900));
    let mut places = [(); 2].map(|()| world.queued_as(hasty));
    drop(permits);
    drop(places.each_mut().map(Waiting::permit));
}

#[test]
fn streams_do_not_close_the_queue_to_calls_with_deadlines() {
    // Streams hold 99 of the 100 permits for a long time, while a call takes 100 ms.
    let world = World::new(rules().limit(100));
    let _streams = [(); 99].map(|()| world.admitted());
    world.learns(ms(100));
    let permit = world.admitted();
    let mut first = world.queued();
    let mut second = world.queued_as(Arrival::default().deadline(world.gate.now() + ms(900)));
    drop(permit);
    drop(first.permit());
    drop(second.permit());
}

#[test]
fn a_service_that_takes_half_a_minute_is_measured_too() {
    let world = World::new(rules().max_wait(ms(600_000)));
    world.learns(ms(30_000));
    let rate = world.snapshot().service_rate.expect("twenty releases are enough for a rate");
    assert!((0.03..0.04).contains(&rate), "{rate}");
}

#[test]
fn a_slow_service_is_measured_even_if_most_waiters_time_out() {
    // One request is served every five seconds, and fifty more requests arrive and give up in the
    // meantime.
    let world = World::new(rules().max_wait(ms(60_000)));
    let mut permit = world.admitted();
    for _ in 0..20 {
        let mut next = world.queued();
        for _ in 0..50 {
            let _in_vain = world.enter(Arrival::default());
            world.after(ms(100));
        }
        drop(permit);
        permit = next.permit();
    }
    let rate = world.snapshot().service_rate.expect("twenty releases are enough for a rate");
    assert!((0.19..0.21).contains(&rate), "{rate}");
}

#[test]
fn time_in_which_waiters_only_expire_counts_too() {
    // There is one release per 250 ms of time with waiting requests, but most requests wait in
    // vain.
    let world = World::new(rules().max_wait(ms(100)));
    for _ in 0..50 {
        let permit = world.admitted();
        for _ in 0..2 {
            let place = world.queued();
            world.after(ms(100));
            assert!(place.place.time_out().is_err());
        }
        let mut place = world.queued();
        world.after(ms(50));
        drop(permit);
        drop(place.permit());
    }
    let rate = world.snapshot().service_rate.unwrap();
    assert!((3.9..4.1).contains(&rate), "{rate}");
}

#[test]
fn evictions_from_a_queue_of_one_do_not_raise_the_measured_rate() {
    let discipline = Discipline::AdaptiveLifo { interval: ms(1_000) };
    let world = World::new(rules().queue(1).discipline(discipline));
    let mut permit = world.admitted();
    for _ in 0..20 {
        let _evicted = world.queued();
        world.after(ms(90));
        let mut place = world.queued();
        world.after(ms(10));
        drop(permit);
        permit = place.permit();
    }
    let rate = world.snapshot().service_rate.unwrap();
    assert!((9.9..10.1).contains(&rate), "{rate}");
}

#[test]
fn the_retry_times_of_a_crowd_are_spread_out() {
    let world = World::new(rules().queue(1));
    world.learns(ms(500));
    let _permit = world.admitted();
    let _place = world.queued();
    // After the waiting request has been served, two clients per second may come back. About half
    // of these clients get an extra second.
    for served in 2..60 {
        let told = world.refused().retry_after.unwrap();
        let exact = ms(500 * served);
        assert!(told >= exact && told < exact + ms(2_000), "{served}: {told:?}");
        assert_eq!(told.subsec_nanos(), 0);
    }
}

#[test]
fn the_retry_times_of_a_crowd_are_spread_out_without_a_queue_too() {
    // Two requests run at once, for half a second each, so four requests are served per second.
    let world = World::new(rules().limit(2).queue(0));
    for _ in 0..20 {
        let permits = [world.admitted(), world.admitted()];
        assert!(world.refused().retry_after.unwrap() <= ms(7_000));
        world.after(ms(500));
        drop(permits);
    }
    world.after(ms(10_000));
    let _permits = [world.admitted(), world.admitted()];
    for served in 1..60 {
        let told = world.refused().retry_after.unwrap();
        let exact = ms(250 * served);
        assert!(told >= exact && told < exact + ms(2_000), "{served}: {told:?}");
    }
}

#[test]
fn no_retry_time_is_later_than_the_longest_one() {
    let world = World::new(rules().queue(1).longest_retry(ms(10_000)));
    world.learns(ms(1_000));
    let _permit = world.admitted();
    let _place = world.queued();
    let told: Vec<_> = (0..99).map(|_| world.refused().retry_after.unwrap().as_secs()).collect();
    assert!(told[..7].iter().zip(2..).all(|(told, at)| (at..=at + 1).contains(told)), "{told:?}");
    assert!(told[10..].iter().all(|told| *told == 10), "{told:?}");
}

#[test]
fn every_refusal_for_lack_of_capacity_has_a_retry_time() {
    let discipline = Discipline::ControlledDelay { target: ms(100), interval: ms(10) };
    let world = World::new(GateRules::new(1).queue(3).discipline(discipline));
    let permit = world.admitted();
    let mut first = world.queued();
    world.after(ms(15));
    // Both requests wait for longer than the discipline allows under overload. The first request is
    // refused by its timer, and the second request by a release.
    let by_timer = world.queued();
    let mut by_release = world.queued();
    assert!(world.refused().retry_after.is_some());
    world.after(ms(101));
    let told = by_timer.place.time_out().unwrap_err();
    drop(permit);
    drop(first.permit());
    for told in [told, by_release.refusal()] {
        assert_eq!(told.because, RefusedBecause::Shed);
        assert!(told.retry_after.is_some(), "{told:?}");
    }
}

#[test]
fn retry_times_are_earlier_once_the_queue_is_empty() {
    let world = World::new(rules().queue(1));
    world.learns(ms(1_000));
    let permit = world.admitted();
    let mut place = world.queued();
    let told = (0..40).map(|_| world.refused().retry_after.unwrap()).max().unwrap();
    assert!(told > ms(40_000));
    drop(permit);
    drop(place.permit());
    world.after(ms(30_000));
    let _permit = world.admitted();
    let _place = world.queued();
    assert!(world.refused().retry_after.unwrap() <= ms(14_000));
}

#[test]
fn a_snapshot_has_all_the_numbers() {
    let world = World::new(rules().limit(2).queue(3));
    let empty = world.snapshot();
    assert_eq!((empty.in_flight, empty.queued, empty.limit), (0, 0, Some(2)));
    assert_eq!((empty.oldest_wait, empty.service_rate), (ms(0), None));
    assert_eq!((empty.is_draining, empty.outcomes), (false, GateOutcomes::default()));

    let _permits = [world.admitted(), world.admitted()];
    let first = world.queued();
    world.after(ms(70));
    let _second = world.queued();
    world.after(ms(30));
    assert_eq!(world.snapshot().oldest_wait, ms(100));
    assert_eq!(world.counts(), (2, 2));
    drop(first);
    assert_eq!(world.snapshot().oldest_wait, ms(30));
    // Lowering the limit does not change the counts of running and waiting requests.
    world.gate.set_limit(1).unwrap();
    let snapshot = world.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.queued, snapshot.limit), (2, 1, Some(1)));
    assert_eq!((snapshot.outcomes.queued, snapshot.outcomes.cancelled), (2, 1));
    drop(world.gate.drain(DrainQueue::Serve));
    assert!(world.snapshot().is_draining);
}

#[test]
fn the_oldest_wait_is_that_of_the_oldest_in_any_lane() {
    let priority = Discipline::Priority { reserved: vec![0, 0], aging: ms(1_000) };
    for discipline in [priority, Discipline::FairByTenant(Tenants::Each)] {
        let world = World::new(rules().discipline(discipline));
        let _permit = world.admitted();
        let _oldest = world.queued_as(Arrival::default().class(1).tenant(9));
        world.after(ms(10));
        let _newer = world.queued();
        assert_eq!(world.snapshot().oldest_wait, ms(10));
    }
}

#[test]
fn a_timed_out_request_can_get_a_retry_time_after_those_of_others() {
    let world = World::new(rules().queue(1));
    world.learns(ms(300));
    let _permit = world.admitted();
    let place = world.queued();
    let now = world.gate.now();
    let told = [(); 20].map(|()| world.refused().retry_after.unwrap());
    world.after(ms(1_000));
    assert_eq!(place.place.time_out().unwrap_err().retry_after, None);
    let last = now + told.into_iter().max().unwrap();
    let mine = world.gate.now() + world.gate.retry_after(world.gate.now());
    assert!(mine + ms(1_000) >= last && mine > now + ms(4_000), "{mine:?} after {last:?}");
}
