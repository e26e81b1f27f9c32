//! The numbers of the article and of other sources, with one test each. The names with a V are
//! those of the project's reference.
//!
//! V31 and V33 describe the behaviour of a crowd over time. The tests here check the arithmetic
//! behind it; tests with the same numbers in the simulator of sites check the crowd.

use std::{sync::Barrier, thread, time::Duration};

use super::{
    counters::{Counters, reply},
    *,
};
use waiting_room_core::{
    Limiter, Pass, Quota, Reason, Room, RoomRules, Ticket, Verdict, VisitorId,
    rate::{
        Algorithm, Alignment, KeyHasher, Refusals,
        meters::{FixedWindow, Gcra, Meter, SlidingCounter, SlidingLog, TickLog},
    },
};

const COUNTERS: SlotPolicy = SlotPolicy::Counters;
const EVEN: SlotPolicy = SlotPolicy::Even;

const fn curve(curve_factor: f64) -> SlotPolicy {
    SlotPolicy::Curve { curve_factor }
}

/// The slots of the article at 11:45.
fn slots() -> Slots {
    Slots::new(&limits(), &state(3), Minute::of(noted()))
}

/// The numbers of visitors that two nodes admit which share ten slots, at a tenth of the limit.
fn two_nodes(policy: SlotPolicy, arrivals: [u32; 2]) -> [u32; 2] {
    // All slots are San Jose's, which had all traffic of the minute before.
    let limits = SlotRules::new(100).new_users_per_minute(10).any_floor(0.0);
    let rules = NodeRules::new(limits, policy);
    let snapshot = WorldSnapshot::new(1, noted())
        .with_active(10)
        .with_nodes([(SAN_JOSE, 2)])
        .with_traffic(Minute::of(clock(11, 44, 0)), [(SAN_JOSE, 10)]);
    let mut counters = Counters::default();
    arrivals.map(|visitors| {
        let mut node = admission(rules, SAN_JOSE, snapshot.clone());
        counters.admitted(&mut node, SAN_JOSE, visitors, noted())
    })
}

/// The number of visitors that one node of the article admits, out of `visitors`.
fn admitted(policy: SlotPolicy, site: SiteId, in_san_jose: u32, visitors: u32) -> u32 {
    let mut node = admission(rules(policy), site, state(in_san_jose));
    Counters::default().admitted(&mut node, site, visitors, noted())
}

#[test]
fn v01_fifty_of_two_hundred_leave_150() {
    let rules = limits();
    assert_eq!(Slots::available(&rules, &state(3)), 150);
    // A quarter: at a curve factor of one the multiplier is the utilization.
    assert!(is_close(&[curve(1.0).multiplier(50.0 / 200.0)], &[0.25]));
    // The lower of the two limits applies.
    let most = |per_minute| rules.new_users_per_minute(per_minute).most_in_a_minute();
    assert_eq!([Some(199), Some(201), None].map(most), [199, 200, 200]);
}

#[test]
fn v03_a_tenth_of_150_is_15() {
    assert_eq!(slots().site(SAN_JOSE), 15);
}

#[test]
fn v04_three_quarters_of_150_are_113() {
    assert_eq!(slots().anywhere(), 113);
}

#[test]
fn v06_fifteen_slots_are_five_for_each_of_three_nodes() {
    assert_eq!(EVEN.per_node(15, 3, 0.25), 5);
}

#[test]
fn v07_of_113_slots_each_of_ten_nodes_has_11() {
    assert_eq!(EVEN.per_node(113, 10, 0.25), 11);
}

#[test]
fn v08_a_node_of_san_jose_admits_16_and_queues_the_17th() {
    assert_eq!(admitted(EVEN, SAN_JOSE, 3, 16), 16);
    assert_eq!(admitted(EVEN, SAN_JOSE, 3, 17), 16);
}

#[test]
fn v09_delhi_has_no_slots_of_its_own_and_admits_11() {
    assert_eq!(slots().site(DELHI), 0);
    assert_eq!(admitted(EVEN, DELHI, 3, 11), 11);
    assert_eq!(admitted(EVEN, DELHI, 3, 12), 11);
}

#[test]
fn v10_seven_and_one_are_eight_of_ten_and_two_of_them_wait() {
    assert_eq!(two_nodes(EVEN, [7, 1]), [5, 1]);
}

#[test]
fn v11_eight_and_seven_fill_ten_slots() {
    assert_eq!(two_nodes(EVEN, [8, 7]), [5, 5]);
}

#[test]
fn v12_at_a_quarter_of_the_limit_a_node_admits_45() {
    assert_eq!(curve(1.0).per_node(113, 10, 0.25), 45);
    // Delhi has no slots of its own.
    assert_eq!(admitted(curve(1.0), DELHI, 3, 46), 45);
}

#[test]
fn v13_at_a_tenth_of_the_limit_a_node_admits_8_of_10() {
    assert_eq!(curve(0.25).per_node(10, 2, 0.1), 8);
}

#[test]
fn v14_eight_of_ten_needs_a_curve_factor_near_a_quarter() {
    let per_node = |factor| curve(factor).per_node(10, 2, 0.1);
    assert_eq!([0.2042, 0.2552].map(per_node), [8, 8]);
    assert_eq!([0.2040, 0.2554].map(per_node), [7, 9]);
    // With a factor of one, two nodes would count as a fifth of a node. Each may then admit all
    // slots, but no more than these.
    assert_eq!(per_node(1.0), 10);
}

#[test]
fn v15_seven_and_one_enter_under_the_curve() {
    assert_eq!(two_nodes(curve(0.25), [7, 1]), [7, 1]);
}

#[test]
fn v16_eight_and_seven_are_five_more_than_the_slots() {
    assert_eq!(two_nodes(curve(0.25), [8, 7]), [8, 7]);
}

#[test]
fn v17_near_the_limit_the_curve_divides_evenly() {
    assert_eq!(curve(0.25).per_node(10, 2, 1.0), 5);
    assert_eq!(curve(2.0).per_node(10, 2, 1.0), 5);
    // After the limit was lowered, more visitors may be active than it allows.
    assert_eq!(curve(2.0).per_node(10, 2, 3.0), 5);
}

#[test]
fn v18_every_curve_goes_from_none_to_one_and_a_square_lies_below_a_line() {
    for factor in [1.0, 2.0] {
        let ends = [0.0, 1.0];
        assert!(is_close(&ends.map(|at| curve(factor).multiplier(at)), &ends));
    }
    for percent in 1..100 {
        let at = f64::from(percent) / 100.0;
        assert!(curve(2.0).multiplier(at) < curve(1.0).multiplier(at));
    }
}

/// The utilizations in V19 and V20.
const UTILIZATIONS: [f64; 6] = [0.1, 0.25, 0.5, 0.75, 0.9, 1.0];

#[test]
fn v19_slots_of_a_node_over_the_utilization_with_a_factor_of_one() {
    let per_node = UTILIZATIONS.map(|at| curve(1.0).per_node(113, 10, at));
    assert_eq!(per_node, [113, 45, 22, 15, 12, 11]);
}

#[test]
fn v20_slots_of_a_node_over_the_utilization_with_a_factor_of_two() {
    let per_node = UTILIZATIONS.map(|at| curve(2.0).per_node(113, 10, at));
    assert_eq!(per_node, [113, 113, 45, 20, 13, 11]);
}

#[test]
fn v22_seven_and_one_enter_with_counters() {
    assert_eq!(two_nodes(COUNTERS, [7, 1]), [7, 1]);
}

#[test]
fn v23_of_eight_and_seven_ten_enter_with_counters() {
    assert_eq!(two_nodes(COUNTERS, [8, 7]), [8, 2]);
}

#[test]
fn v24_a_ticket_of_15_at_san_jose_is_a_question_to_anywhere() {
    let mut node = admission(rules(COUNTERS), SAN_JOSE, state(3));
    let SlotDecision::Request(request) = node.arrive(noted()) else { panic!("San Jose has slots") };
    assert_eq!((request.pool, request.slots), (Pool::Site, 15));
    for before in 0..15 {
        assert_eq!(node.on_reply(&request, reply(before, &request), noted()), SlotDecision::Admit);
    }
    let SlotDecision::Request(next) = node.on_reply(&request, reply(15, &request), noted()) else {
        panic!("Anywhere has slots");
    };
    assert_eq!((next.pool, next.slots), (Pool::Anywhere, 113));
}

#[test]
fn v25_a_single_node_of_san_jose_admits_128() {
    assert_eq!(admitted(COUNTERS, SAN_JOSE, 1, 128), 128);
    assert_eq!(admitted(COUNTERS, SAN_JOSE, 1, 129), 128);
}

#[test]
fn v26_slots_that_london_does_not_use_are_stranded() {
    let admitted = admitted(COUNTERS, SAN_JOSE, 1, 200);
    assert_eq!(50 + admitted, 178);
    assert_eq!(200 - 178, slots().site(LONDON));
}

/// A room with default rules, and the number of slots that a test needs.
fn room(slots: u32) -> Room {
    Room::new(RoomRules::new("article", slots)).unwrap()
}

#[track_caller]
fn pass(verdict: Verdict) -> Pass {
    match verdict {
        Verdict::Admit { pass, .. } => pass,
        other => panic!("not admitted: {other:?}"),
    }
}

#[track_caller]
fn ticket(verdict: Verdict) -> Ticket {
    match verdict {
        Verdict::Wait { ticket, .. } => ticket,
        other => panic!("does not wait: {other:?}"),
    }
}

#[test]
fn v27_a_pass_knows_its_minute_and_its_instant() {
    let pass = pass(room(1).enter(VisitorId::new(1), noted()));
    assert_eq!(Timestamp::from_secs(60 * u64::from(pass.bucket)), clock(11, 45, 0));
    assert_eq!((pass.last_check_in, pass.accepted_at), (noted(), noted()));
}

#[test]
fn v28_a_decision_looks_at_the_minute_before_and_counts_in_its_own() {
    let now = Minute::of(noted());
    assert_eq!((now.start(), now.end()), (clock(11, 45, 0), clock(11, 46, 0)));
    let history = state(3).traffic_minute(now).unwrap();
    assert_eq!(history.start(), clock(11, 44, 0));
    let mut node = admission(rules(COUNTERS), SAN_JOSE, state(3));
    let SlotDecision::Request(request) = node.arrive(noted()) else { panic!("San Jose has slots") };
    assert_eq!(request.minute, now);
}

#[test]
fn v29_returning_after_the_session_joins_the_back_of_the_line() {
    let mut room = room(1);
    let [ann, bob, eve] = [1, 2, 3].map(VisitorId::new);
    let old = pass(room.enter(ann, noted()));
    let of_bob = ticket(room.enter(bob, noted()));
    let of_bob = ticket(room.check_in(&of_bob, of_bob.next_check_in));

    let late = old.expires_at;
    assert_eq!(room.renew(&old, late), waiting_room_core::room::Renewal::End);
    pass(room.check_in(&of_bob, late));
    let of_eve = ticket(room.enter(eve, late));
    let of_eve = ticket(room.check_in(&of_eve, of_eve.next_check_in));
    let later = of_eve.last_check_in;
    let verdict = room.enter(ann, later);
    assert_eq!(*verdict.reason(), Reason::QueuedActiveLimit);
    let of_ann = ticket(verdict);
    let of_ann = ticket(room.check_in(&of_ann, of_ann.next_check_in));
    assert_eq!((of_eve.shown_position, of_ann.shown_position), (Some(1), Some(2)));
}

#[test]
fn v30_a_site_that_has_not_heard_of_a_spike_admits_its_share_and_no_more() {
    // London's snapshot shows 100 active visitors. That of Delhi, with a tenth of the traffic,
    // still shows 26.
    let snapshot = |version, active| {
        WorldSnapshot::new(version, noted())
            .with_active(active)
            .with_nodes([(LONDON, 9), (DELHI, 1)])
            .with_traffic(Minute::of(clock(11, 44, 0)), [(LONDON, 180), (DELHI, 20)])
    };
    let unseen = 100 - 26;
    for policy in [EVEN, COUNTERS] {
        let rules = rules(policy);
        let mut counters = Counters::default();
        let london: u32 = (0..9)
            .map(|_| admission(rules, LONDON, snapshot(2, 100)))
            .map(|mut node| counters.admitted(&mut node, LONDON, 500, noted()))
            .sum();
        let mut delhi = admission(rules, DELHI, snapshot(1, 26));
        let delhi = counters.admitted(&mut delhi, DELHI, 500, noted());
        // Delhi admits a tenth of the 174 slots that are free by its snapshot.
        assert_eq!((london, delhi), (90, 17));
        assert!(100 + london + delhi <= 200 + unseen / 10);
    }
}

#[test]
fn v31_queueing_begins_at_the_limit_and_ends_below_it() {
    let now = Minute::of(noted());
    let available = |active| Slots::new(&limits(), &state(3).with_active(active), now).total();
    assert_eq!([199, 200, 201].map(available), [1, 0, 0]);
}

#[test]
fn v32_a_wrongly_queued_visitor_enters_after_one_refresh() {
    let refresh = RoomRules::new("article", 200).refresh_interval;
    assert_eq!(refresh, Duration::from_secs(20));
    // All 17 visitors meet the same node. One refresh later, the node has 16 slots again.
    let mut node = admission(rules(EVEN), SAN_JOSE, state(3));
    let mut counters = Counters::default();
    assert_eq!(counters.admitted(&mut node, SAN_JOSE, 17, noted()), 16);
    assert_eq!(counters.admitted(&mut node, SAN_JOSE, 1, noted() + refresh), 1);
}

#[test]
fn v33_an_even_split_queues_a_skewed_crowd_well_below_the_limit() {
    // There are ten nodes. Of 30 visitors the busiest node gets four, where an equal part is three.
    let arrivals = [40, 35, 32, 30, 30, 29, 28, 27, 25, 24];
    let slots = 300;
    let part = EVEN.per_node(slots, 10, 0.0);
    let first_to_wait = arrivals.map(|share| f64::from(part) * 300.0 / f64::from(share));
    let used = first_to_wait.into_iter().fold(f64::INFINITY, f64::min) / f64::from(slots);
    assert!((0.70..=0.80).contains(&used), "{used}");
}

#[test]
fn v34_a_sliding_counter_takes_6_and_a_half_for_6() {
    let counter = SlidingCounter::new(&Quota::per_minute(7));
    let mut state = Default::default();
    counter.spend(&mut state, 5, clock(0, 0, 30));
    counter.spend(&mut state, 3, clock(0, 1, 0));
    assert_eq!(counter.used(&state, clock(0, 1, 18)), 6);
    assert!(counter.check(&mut state, 1, clock(0, 1, 18)).is_ok());
    assert!(counter.check(&mut state, 1, clock(0, 1, 18)).is_err());
}

#[test]
fn v35_a_fixed_window_admits_twice_the_limit_around_its_boundary() {
    let window = FixedWindow::new(&Quota::per_minute(5), Alignment::Epoch);
    let mut state = Default::default();
    let mut request =
        |minutes, seconds| window.check(&mut state, 5, clock(0, minutes, seconds)).is_ok();
    assert!(request(2, 30) && request(3, 0));
    assert!(!request(3, 29));

    // The slots of a minute behave in the same way: the policies are fixed windows, too.
    let idle = WorldSnapshot::new(1, clock(11, 45, 0));
    let mut node = admission(rules(COUNTERS), SAN_JOSE, idle);
    let mut counters = Counters::default();
    let mut admitted = |at| counters.admitted(&mut node, SAN_JOSE, 300, at);
    assert_eq!([clock(11, 45, 59), clock(11, 46, 0)].map(&mut admitted), [200, 200]);
}

#[test]
fn v36_a_sliding_log_may_count_its_refusals() {
    let log = SlidingLog::new(&Quota::per_minute(2), Refusals::Count);
    let mut state = TickLog::default();
    let mut request =
        |minutes, seconds| log.check(&mut state, 1, clock(1, minutes, seconds)).is_ok();
    assert!(request(0, 1) && request(0, 30));
    assert!(!request(0, 50));
    assert!(request(1, 40));
    // The refusal at 1:00:50 is still in the window.
    assert!(!request(1, 45));
}

/// Drawing is atomic: no request reads a number that another one is about to change. The tests of
/// `waiting-room-redis` do the same with several nodes and one server.
#[test]
fn v37_two_simultaneous_draws_from_a_counter_at_3_leave_it_at_5() {
    let key = KeyHasher::new([3, 1, 4, 1]).hash("V37");
    for _ in 0..200 {
        let limiter =
            Limiter::new(Algorithm::FixedWindow(Alignment::Epoch), &[Quota::per_minute(10)], 1)
                .unwrap();
        let draw = || limiter.charge(key, 0, 1, noted()).is_ok();
        assert!((0..3).all(|_| draw()));
        let start = Barrier::new(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    assert!(draw());
                });
            }
        });
        assert_eq!(limiter.look(key, 0, 0, noted()).remaining, 10 - 5);
    }
}

/// The source states a bound of three times the capacity. The actual bound is twice the capacity,
/// see the tests of the rate limits. A capacity of a third of the limit keeps the limit in either
/// case.
#[test]
fn v38_a_leaky_bucket_with_a_third_of_the_limit_keeps_it() {
    let limit = 12;
    let bucket = Gcra::new(&Quota::per_minute(limit / 3));
    let mut state = Default::default();
    // The minute includes both of its ends, and there are more attempts than the bucket has room
    // for.
    let attempts = (0..=60).flat_map(|second| [clock(0, 0, second); 12]);
    let passed = attempts.filter(|at| bucket.check(&mut state, 1, *at).is_ok()).count() as u64;
    assert_eq!(passed, 2 * (limit / 3));
    assert!(passed <= limit);
}

fn is_close(shares: &[f64], expected: &[f64]) -> bool {
    shares.len() == expected.len()
        && shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-8)
}
