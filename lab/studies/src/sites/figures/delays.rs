//! The effect of outdated information on the policies.

use std::collections::BTreeMap;

use super::{
    tables::percent,
    worlds::{self, Contender},
};
use crate::{
    figures::Size,
    sheet::{Column, Sheet},
    sites::scenario::Scenario,
};

/// The ramp and the spike with increasing delays of information. For the counters the delay is the
/// age of a snapshot. The escrow uses no snapshots, so one run with the highest age stands for all
/// ages; its other runs have slower messages between the ledgers.
pub(super) fn delays(seeds: &[u64]) -> Sheet {
    let with_delay = |contender: Contender, delay| {
        let worlds = [worlds::ramp(0.0), worlds::spike()];
        let worlds = worlds.map(|world| worlds::with_delay(world, delay));
        (format!("{}, {delay} s", contender.name), (contender, worlds))
    };
    let counters = DELAYS.map(|delay| with_delay(Contender::COUNTERS, delay));
    let escrow_with_old_news = with_delay(Contender::ESCROW, DELAYS[DELAYS.len() - 1]);
    let escrow = ROUND_TRIPS_MS.map(|most| {
        let worlds = [worlds::ramp(0.0), worlds::spike()];
        let worlds = worlds.map(|world| worlds::with_round_trip(world, most));
        (format!("Escrow, {}", round_trip(most)), (Contender::ESCROW, worlds))
    });
    let items: Vec<_> = counters.into_iter().chain([escrow_with_old_news]).chain(escrow).collect();
    let ideal = worlds::ramp(0.0);
    let possible = |&seed: &u64| (seed, Contender::IDEAL_HOLDS.run(&ideal, seed).admitted as f64);
    let possible: BTreeMap<_, _> = seeds.iter().map(possible).collect();
    let head = ("delay", "Older snapshots, and more distant ledgers");
    Sheet::measure(head, DELAY, seeds, &items, |(contender, [ramp, spike]), seed| {
        let on_ramp = contender.run(ramp, seed);
        let on_spike = contender.run(spike, seed);
        let highest = on_ramp.max_active_over_limit.max(on_spike.max_active_over_limit);
        vec![
            percent(on_ramp.util_at_first_early_queue),
            (on_ramp.early_queued + on_spike.early_queued) as f64,
            100.0 * on_ramp.admitted as f64 / possible[&seed],
            100.0 * highest,
            highest / bound_without_turns(contender, spike),
            highest / bound(contender, spike),
        ]
    })
}

/// A spike just before the turn of a minute. Slots are fixed for a minute, so a crowd that arrives
/// just before the turn finds the slots of two minutes before any site learns of it.
pub(super) fn turn(seeds: &[u64], size: Size) -> Sheet {
    let all = [Contender::EVEN, Contender::CURVE, Contender::COUNTERS, Contender::ESCROW];
    let contenders = match size {
        Size::Full => &all[..],
        Size::Quick => &all[2..],
    };
    let items: Vec<_> = contenders
        .iter()
        .flat_map(|&contender| CROWDS.map(|per_minute| (contender, per_minute)))
        .map(|(contender, per_minute)| {
            let world = worlds::spike_before_a_turn(per_minute);
            (format!("{}, {per_minute} a minute", contender.name), (contender, world))
        })
        .collect();
    let head = ("turn", "A spike five seconds before the end of a minute");
    Sheet::measure(head, TURN, seeds, &items, |(contender, world), seed| {
        let report = contender.run(world, seed);
        let highest = report.max_active_over_limit;
        vec![
            100.0 * highest,
            report.overshoot_user_seconds,
            highest / bound_without_turns(contender, world),
            highest / bound(contender, world),
        ]
    })
}

/// The bound on active visitors, as a multiple of the limit. For slots that are computed from
/// snapshots it is the limit, plus the slots of a minute for each turn of a minute within the age
/// of the snapshot, plus the slots of one more minute. The slots of a minute are fixed when it
/// begins, from a snapshot that lacks all visitors who were admitted since it was made.
fn bound(contender: &Contender, world: &Scenario) -> f64 {
    let limits = world.limits;
    let slots = limits.total_active_users.min(limits.new_users_per_minute);
    let turns = (staleness(world) / 60.0).floor() + 1.0;
    contender.bound(turns * f64::from(slots) / f64::from(limits.total_active_users))
}

/// The bound if slots were not fixed for a minute: the limit, plus the visitors who are admitted
/// while a snapshot is under way.
fn bound_without_turns(contender: &Contender, world: &Scenario) -> f64 {
    let unseen = f64::from(world.limits.new_users_per_minute) * staleness(world) / 60.0;
    contender.bound(unseen / f64::from(world.limits.total_active_users))
}

/// The maximum age of the newest snapshot at a site, in seconds.
fn staleness(world: &Scenario) -> f64 {
    world.network.news_delay + world.network.news_every
}

/// The name of a round-trip time of up to `most` milliseconds.
fn round_trip(most: u32) -> String {
    match most {
        0..1_000 => format!("round trip {most} ms"),
        _ => format!("round trip {} s", most / 1_000),
    }
}

/// The ages of snapshots, in seconds.
const DELAYS: [f64; 4] = [2.0, 6.0, 20.0, 120.0];

/// The maximum round-trip times in milliseconds. The first is usual and the second is about the
/// longest on this planet; both are well below the 1.2 seconds for which the escrow holds a visitor
/// at the door, who may have to ask two ledgers one after the other. The last four equal the ages
/// of the snapshots.
const ROUND_TRIPS_MS: [u32; 7] = [70, 300, 500, 2_000, 6_000, 20_000, 120_000];

/// The visitors per minute.
const CROWDS: [f64; 3] = [3_000.0, 4_500.0, 30_000.0];

const DELAY: &[Column] = &[
    Column::new("first too early %", 1),
    Column::new("too early", 0),
    Column::new("of the ideal ledger %", 1),
    Column::new("highest active %", 1),
    Column::new("ratio to 1 + N·staleness/60/L", 3),
    Column::new("ratio to the bound", 3),
];

const TURN: &[Column] = &[
    Column::new("highest active %", 1),
    Column::new("user-seconds above", 0),
    Column::new("ratio to 1 + N·staleness/60/L", 3),
    Column::new("ratio to the bound", 3),
];
