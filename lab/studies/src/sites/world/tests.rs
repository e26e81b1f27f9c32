//! Small worlds, with every policy.

use std::collections::BTreeMap;

use waiting_room_sim::seeds;

use super::*;
use crate::sites::clock::MINUTE;

const POLICIES: [Policy; 6] = [
    Policy::Counters,
    Policy::Curve,
    Policy::Escrow,
    Policy::Even,
    Policy::Ideal,
    Policy::IdealHolds,
];

/// Half an hour at a few sites. The limit on new visitors is the lower one.
fn world() -> Scenario {
    world_for(150)
}

/// The same world with this limit on new visitors per minute. With 400, the limit on active
/// visitors is the lower one.
fn world_for(new_users_per_minute: u32) -> Scenario {
    let mut world = Scenario::new(300, new_users_per_minute, [3, 2, 2, 1]);
    world.limits.session = 60;
    world.visitors.browsing = 40.0;
    world.visitors.think = 10.0;
    world.visitors.patience = Some(300.0);
    world.visitors.bots = 0.05;
    world.load(&[(0.0, 0.2), (10.0, 1.3), (20.0, 1.3), (20.0, 0.3), (25.0, 0.3)])
}

/// The world with these round trips between sites, in milliseconds.
fn with_round_trips(mut world: Scenario, wan_rtt_ms: [u32; 2]) -> Scenario {
    world.network.wan_rtt_ms = wan_rtt_ms;
    world
}

fn run(scenario: &Scenario, policy: Policy, seed: u64) -> Report {
    World::new(scenario, policy, seed).unwrap().run()
}

#[test]
fn a_seed_gives_the_same_report_again_and_another_seed_another() {
    let scenario = world().dead(0, 8.0);
    for policy in POLICIES {
        let report = |seed| run(&scenario, policy, seed);
        assert_eq!(report(5), report(5));
        assert_ne!(report(5), report(6));
    }
}

#[test]
fn no_visitor_is_lost_on_the_way() {
    let slow = with_round_trips(world(), [3_000, 9_000]);
    for world in [world(), world().dead(0, 0.0), slow] {
        for policy in POLICIES {
            let report = run(&world, policy, 5);
            let left = u64::from(report.waiting_at_end + report.at_the_door_at_end);
            assert_eq!(
                report.arrivals,
                report.admitted + report.gave_up + report.bots_away + left,
                "{policy:?}"
            );
            assert!(
                report.bots_away > 0 && report.answer_max_ms < 2_300,
                "{policy:?}: {}",
                report.answer_max_ms
            );
        }
    }
}

/// Visitors with a patience of five seconds: the line is shorter after a moment. The limit on active visitors
/// is the lower one.
fn impatient() -> Scenario {
    let mut scenario = world_for(400);
    scenario.visitors.patience = Some(5.0);
    scenario
}

/// A site dies. The limit per minute is the lower one, and the dead site holds part of it, which no other site
/// can use.
fn bereaved() -> Scenario {
    world().dead(0, 5.0)
}

#[test]
fn arriving_while_others_give_up_is_not_early() {
    for seed in seeds(10) {
        let report = run(&impatient(), Policy::Escrow, seed);
        assert!(report.gave_up > 100);
        assert_eq!(report.early_queued, 0, "seed {seed}");
    }
}

#[test]
fn a_dead_site_strands_places_in_the_minute_as_well() {
    // With this seed, a judge that looked for stranded places once a second took two of them for free.
    for seed in seeds(10).into_iter().chain([20_261_128_003]) {
        let report = run(&bereaved(), Policy::Escrow, seed);
        assert!(report.queued > 0);
        assert_eq!(report.early_queued, 0, "seed {seed}");
        assert!(report.max_stranded_slots > 10);
    }
}

/// Round trips that take half a second longer, under a judge who does not know it, are those to a global ledger
/// that grants half a second late. About one run in three shows it.
#[test]
fn the_judge_notices_a_ledger_that_grants_half_a_second_late() {
    for world in [impatient(), bereaved()] {
        let takes = news_take(world.network.wan_rtt_ms[1]);
        let mut late = world;
        late.network.wan_rtt_ms = late.network.wan_rtt_ms.map(|trip| trip + 500);
        let is_noticed = |seed| {
            let mut world = World::new(&late, Policy::Escrow, seed).unwrap();
            world.truth = Truth::new(late.limits, late.length_ms(), takes);
            world.run().early_queued > 0
        };
        assert!((0..40).any(is_noticed));
    }
}

#[test]
fn active_visitors_of_a_dead_site_are_active_elsewhere_or_gone() {
    let scenario = world().dead(0, 8.0);
    for policy in POLICIES {
        let mut world = World::new(&scenario, policy, 5).unwrap();
        world.play();
        assert_eq!(world.active[0], 0, "{policy:?}");
        assert_eq!(world.active.iter().sum::<u32>(), world.truth.active(), "{policy:?}");
    }
}

/// Half of the visitors of a minute may be admitted, and there are slots for all of them.
#[test]
fn the_minute_limits_which_visitors_may_ask_as_well() {
    let scenario = world();
    let mut world = World::new(&scenario, Policy::Ideal, 5).unwrap();
    let limit = scenario.limits.new_users_per_minute;
    for _ in 0..limit {
        world.truth.admit(0, false, 0);
        world.truth.lapse(0);
    }
    world.truth.queue(1_000, true, 1_000);
    assert_eq!(world.line_news().frontier, 1, "no visitor after the first in line");
}

#[test]
fn all_policies_meet_the_same_visitors() {
    let scenario = world();
    let arrivals = POLICIES.map(|policy| run(&scenario, policy, 5).arrivals);
    assert!(arrivals.iter().all(|other| *other == arrivals[0]), "{arrivals:?}");
}

/// `Truth` adds and subtracts one at a time. Here all sessions of a run are compared.
#[test]
fn the_sessions_of_a_run_agree_with_its_report() {
    let scenario = world().cut(1, 9.0, 12.0);
    let seed = seeds(1)[0];
    for policy in POLICIES {
        let mut world = World::new(&scenario, policy, seed).unwrap();
        world.notes.sessions = Some(BTreeMap::new());
        let (report, notes) = world.run_with_notes();
        let sessions: Vec<_> = notes.sessions.unwrap().into_values().collect();
        assert_eq!(sessions.len() as u64, report.admitted);

        // Ends come before beginnings: a slot is free in the millisecond in which it is left.
        let mut begun: Vec<_> = sessions.iter().map(|session| session.begun).collect();
        let ends = sessions.iter().map(|session| (session.over.unwrap_or(u32::MAX), -1));
        let mut changes: Vec<_> = begun.iter().map(|begun| (*begun, 1)).chain(ends).collect();
        changes.sort_unstable();
        let active = changes.iter().scan(0, |active, (_, change)| {
            *active += change;
            Some(*active)
        });
        // `Truth` processes the events of a millisecond in the order in which they occur.
        let most = active.max().unwrap();
        assert!((0..=1).contains(&(i64::from(report.max_active) - most)), "{policy:?}: {most}");

        begun.sort_unstable();
        let in_a_minute = |end: &u32| {
            let until = begun.partition_point(|begin| begin <= end);
            until - begun.partition_point(|begin| begin + MINUTE <= *end)
        };
        let most = begun.iter().map(in_a_minute).max().unwrap() as f64;
        let limit = f64::from(scenario.limits.new_users_per_minute);
        let reported = report.max_new_in_any_minute_over_limit * limit;
        assert!((most - reported).abs() < 1e-6, "{policy:?}: {most}, not {reported}");

        // No session ends before its time, except for the time at the door.
        let lengths =
            sessions.iter().filter_map(|session| session.over.map(|over| over - session.begun));
        assert!(lengths.min().unwrap() + 1_300 >= 1_000 * scenario.limits.session, "{policy:?}");
    }
}

#[test]
fn the_escrow_and_the_ideal_always_keep_both_limits() {
    let with_faults: [fn(Scenario) -> Scenario; 4] = [
        |world| world,
        |world| world.dead(0, 8.0),
        |world| world.cut(0, 6.0, 16.0),
        |world| world.cut(1, 11.0, 11.5),
    ];
    let seed = seeds(1)[0];
    for (limit, is_full) in [(150, false), (400, true)] {
        for with_fault in with_faults {
            for policy in [Policy::Escrow, Policy::Ideal, Policy::IdealHolds] {
                let world = with_fault(world_for(limit));
                let report = run(&world, policy, seed);
                let active = report.max_active;
                let new = report.max_new_in_any_minute_over_limit;
                let faults = &world.faults;
                assert!(
                    active <= 300 && new <= 1.0,
                    "{policy:?} {limit} {faults:?}: {active}, {new}"
                );
                // A limit that is never reached has not been tested.
                assert!(
                    if is_full { active == 300 } else { new > 0.99 },
                    "{policy:?} {limit} {faults:?}"
                );
            }
        }
    }
}

#[test]
fn the_ideal_queues_no_visitor_too_early() {
    for seed in seeds(3) {
        for policy in [Policy::Ideal, Policy::IdealHolds] {
            let report = run(&world(), policy, seed);
            assert!(report.queued > 0);
            assert_eq!(report.early_queued, 0);
        }
    }
}

/// A visitor who stands at the door takes a slot that becomes free in this time, so fewer slots are
/// idle.
#[test]
fn an_ideal_that_holds_visitors_admits_more_and_holds_no_longer() {
    for (limit, seed) in [(150, 5), (400, 6)] {
        let [at_once, holds] =
            [Policy::Ideal, Policy::IdealHolds].map(|policy| run(&world_for(limit), policy, seed));
        assert!(holds.early_slot_seconds < 0.5 * at_once.early_slot_seconds, "{holds:?}");
        assert!(holds.admitted >= at_once.admitted, "{holds:?}");
        assert!((1_000..=1_201).contains(&holds.told_to_wait_max_ms), "{holds:?}");
        assert_eq!((at_once.answer_max_ms, at_once.told_to_wait_max_ms), (0, 0));
    }
}

#[test]
fn only_counters_and_the_escrow_make_calls_and_never_for_a_page() {
    let trips = |policy| {
        let report = run(&world(), policy, 5);
        (
            report.site_trips_per_new > 0.1,
            report.wan_trips_per_new > 0.1,
            report.trips_per_returning,
        )
    };
    for (policy, asks) in [
        (Policy::Counters, (true, true)),
        (Policy::Curve, (false, false)),
        (Policy::Escrow, (false, true)),
        (Policy::Even, (false, false)),
    ] {
        let (site, wan, returning) = trips(policy);
        assert_eq!((site, wan), asks, "{policy:?}");
        assert!(returning < 1e-9, "{policy:?}");
    }
}

/// With a round trip of 500 ms, a slot in another site's reserve takes a second, and then the other
/// ledger has to be asked.
#[test]
fn two_ledgers_keep_no_visitor_at_the_door_for_longer_than_one() {
    for limit in [150, 400] {
        let report = run(&with_round_trips(world_for(limit), [500, 500]), Policy::Escrow, 5);
        assert!(report.wan_trips_per_new > 0.1 && report.answer_max_ms > 1_000, "{report:?}");
        assert!(report.answer_max_ms <= 1_201 && report.told_to_wait_max_ms <= 1_201, "{report:?}");
    }
}

#[test]
fn slots_that_are_still_stranded_at_the_end_have_not_been_recovered() {
    let recovery = |at| {
        let report = run(&world().dead(0, at), Policy::Escrow, 5);
        assert!(report.max_stranded_slots > 0);
        (report.recovery_s.is_some(), report.stranded_slots_at_end > 0)
    };
    assert_eq!((recovery(8.0), recovery(24.0)), ((true, false), (false, true)));
}

#[test]
fn a_site_that_is_cut_off_from_the_counter_of_anywhere_lives_on_its_own_slots() {
    let admitted = |world| run(&world, Policy::Counters, 5).admitted;
    assert!(admitted(world().cut(0, 2.0, 20.0)) < admitted(world()));
}
