//! The effect on a crowd of the time after which it is asked to return.

use std::time::Duration;

use waiting_room_core::gate::{Discipline, GateRules};

use super::{
    crowd::{Advice, Outcome, run},
    policies::Policy,
    tally::Tally,
};
use crate::sheet::{Column, Sheet, measure_each};

/// Returns a summary of each run, and the number of requests in each second.
pub(super) fn crowd(seeds: &[u64]) -> (Sheet, Sheet) {
    let items: Vec<_> = SECONDS.iter().zip(advices()).collect();
    let items: Vec<_> =
        items.into_iter().map(|(item, advice)| (item.name.to_owned(), advice)).collect();
    let outcomes = measure_each(seeds, &items, |(rules, advice), seed| run(rules, *advice, seed));

    let lines = items
        .iter()
        .zip(&outcomes)
        .map(|((name, _), by_seed)| (name.clone(), by_seed.iter().map(summary).collect()));
    let head = ("crowd", "6000 clients within 2 s, 200 of whom are served in a second");
    let summaries = Sheet::new(head, SUMMARY, lines);

    let lines = (0..SHOWN).map(|second| {
        let in_second = |outcome: &Outcome| outcome.per_second.get(second).copied().unwrap_or(0);
        let of_seed =
            |seed: usize| outcomes.iter().map(|by_seed| in_second(&by_seed[seed]).into()).collect();
        (second.to_string(), (0..seeds.len()).map(of_seed).collect())
    });
    let head = ("crowd-seconds", "Requests of the crowd in each second");
    (summaries, Sheet::new(head, SECONDS, lines))
}

fn summary(outcome: &Outcome) -> Vec<f64> {
    let waits = Tally { latencies: outcome.waits.clone(), ..Tally::default() };
    vec![
        outcome.makespan.as_secs_f64(),
        outcome.attempts(),
        outcome.peak(),
        waits.percentile(0.5) / 1_000.0,
        waits.percentile(0.99) / 1_000.0,
        outcome.untold.into(),
    ]
}

/// In the order of [`SECONDS`].
fn advices() -> [(GateRules, Advice); 5] {
    let fifo = || Policy::crowd(Discipline::Fifo);
    let constant = |seconds| Advice::Constant(Duration::from_secs(seconds));
    [
        (fifo(), constant(1)),
        (fifo(), constant(30)),
        (fifo(), Advice::Depth),
        (fifo(), Advice::Gate),
        (Policy::crowd(Discipline::default()), Advice::Gate),
    ]
}

const SUMMARY: &[Column] = &[
    Column::new("makespan s", 1),
    Column::new("attempts per client", 2),
    Column::new("peak requests/s after 5 s", 0),
    Column::new("p50 s", 1),
    Column::new("p99 s", 1),
    Column::new("refused without a time", 0),
];

const SECONDS: &[Column] = &[
    Column::new("1 s for all", 0),
    Column::new("30 s for all", 0),
    Column::new("queue / rate", 0),
    Column::new("virtual slot", 0),
    Column::new("virtual slot, ControlledDelay", 0),
];

/// The number of seconds that are shown. The longest crowd takes minutes.
const SHOWN: usize = 75;
