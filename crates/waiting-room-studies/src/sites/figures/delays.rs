//! What becomes of the policies when what they hear is old.

use std::collections::BTreeMap;

use super::{
    tables::percent,
    worlds::{self, Contender},
};
use crate::{
    sheet::{Column, Sheet},
    sites::scenario::Scenario,
};

/// News that are older and older, on the ramp and on the spike. For the counters that is the age of a
/// snapshot. The escrow has none, so the oldest stand for all, and then the messages between its
/// ledgers take longer.
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
    let possible = |&seed: &u64| (seed, Contender::IDEAL.run(&ideal, seed).admitted as f64);
    let possible: BTreeMap<_, _> = seeds.iter().map(possible).collect();
    let head = ("delay", "News that are older, and ledgers that are farther away");
    Sheet::measure(head, DELAY, seeds, &items, |(contender, [ramp, spike]), seed| {
        let (on_ramp, on_spike) = (contender.run(ramp, seed), contender.run(spike, seed));
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

/// Slots are fixed for a minute, so that a crowd that comes just before one turns is met by those of
/// two before anybody hears of it.
pub(super) fn turn(seeds: &[u64]) -> Sheet {
    let items: Vec<_> = [Contender::EVEN, Contender::CURVE, Contender::COUNTERS, Contender::ESCROW]
        .into_iter()
        .flat_map(|contender| CROWDS.map(|per_minute| (contender, per_minute)))
        .map(|(contender, per_minute)| {
            let world = worlds::spike_before_a_turn(per_minute);
            (format!("{}, {per_minute} a minute", contender.name), (contender, world))
        })
        .collect();
    let head = ("turn", "A spike five seconds before the turn of a minute");
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

/// As many times the limit as may be let in. For slots that are counted from news that is one minute's
/// slots more for each turn of a minute within the age of the news: those of a minute are fixed when it
/// begins, by news in which nobody is who came in since they were made.
fn bound(contender: &Contender, world: &Scenario) -> f64 {
    let limits = world.limits;
    let slots = limits.total_active_users.min(limits.new_users_per_minute);
    let turns = (staleness(world) / 60.0).floor() + 1.0;
    contender.bound(turns * f64::from(slots) / f64::from(limits.total_active_users))
}

/// The same if slots were not fixed for a minute: those who come in while the news are on their way.
fn bound_without_turns(contender: &Contender, world: &Scenario) -> f64 {
    let unseen = f64::from(world.limits.new_users_per_minute) * staleness(world) / 60.0;
    contender.bound(unseen / f64::from(world.limits.total_active_users))
}

/// How old the newest snapshot may be, in seconds.
fn staleness(world: &Scenario) -> f64 {
    world.network.news_delay + world.network.news_every
}

/// Up to so many milliseconds there and back.
fn round_trip(most: u32) -> String {
    match most {
        0..1_000 => format!("round trip {most} ms"),
        _ => format!("round trip {} s", most / 1_000),
    }
}

/// Ages of the news, in seconds.
const DELAYS: [f64; 4] = [2.0, 6.0, 20.0, 120.0];

/// The first is usual, and the second as far as it gets on this planet; both are well below the 1.2
/// seconds for which the escrow keeps a visitor at the door, who may have to ask two ledgers one
/// after the other. The last four are as old as the news of the counters.
const ROUND_TRIPS_MS: [u32; 7] = [70, 300, 500, 2_000, 6_000, 20_000, 120_000];

/// Visitors a minute.
const CROWDS: [f64; 3] = [3_000.0, 4_500.0, 30_000.0];

const DELAY: &[Column] = &[
    Column::new("first too early %", 1),
    Column::new("too early", 0),
    Column::new("of one that knows all %", 1),
    Column::new("highest active %", 1),
    Column::new("of 1 + N·staleness/60/L", 3),
    Column::new("of the bound", 3),
];

const TURN: &[Column] = &[
    Column::new("highest active %", 1),
    Column::new("user-seconds above", 0),
    Column::new("of 1 + N·staleness/60/L", 3),
    Column::new("of the bound", 3),
];
