//! The course of a run over time, and the messages of the ledgers.

use super::worlds::{self, Contender};
use crate::{
    sheet::{Column, Sheet, measure_each},
    sites::{
        clock::{MINUTE, SECOND},
        notes::Moment,
        report::Report,
    },
};

/// The active visitors before and after the largest site dies.
pub(super) fn death(seeds: &[u64]) -> Sheet {
    let world = worlds::dead_site();
    let items = DEATH.iter().map(|column| {
        let mut all = Contender::ALL.iter();
        let contender =
            all.find(|contender| contender.name == column.name).expect("the name of a policy");
        (column.name.to_owned(), *contender)
    });
    let items: Vec<_> = items.collect();
    let runs = measure_each(seeds, &items, |contender, seed| contender.run(&world, seed));
    let [from, until] = DEATH_MINUTES.map(|minute| minute * MINUTE / Moment::EVERY);
    let lines = (from..=until).map(|number| {
        let minute = f64::from(number * Moment::EVERY) / f64::from(MINUTE);
        let active = |report: &Report| f64::from(report.timeline[number as usize].active);
        let by_seed = (0..seeds.len())
            .map(|seed| runs.iter().map(|reports| active(&reports[seed])).collect::<Vec<_>>());
        (format!("{minute:.3}"), by_seed.collect())
    });
    let head = ("death", "Active visitors while the largest of eight sites dies");
    Sheet::new(head, DEATH, lines).by("minute")
}

/// The messages of the ledgers in a second, over the number of sites, when the load has been steady
/// for a while.
pub(super) fn messages(seeds: &[u64]) -> Sheet {
    let items: Vec<_> = SITES.iter().map(|count| (count.to_string(), *count)).collect();
    let head = ("messages", "Messages between ledgers in a second, for 20 000 slots");
    let seeds = &seeds[..seeds.len().min(MESSAGE_SEEDS)];
    Sheet::measure(head, MESSAGES, seeds, &items, |count, seed| {
        let of = |load| {
            let report = Contender::ESCROW.run(&worlds::of_sites(*count, load), seed);
            let from = (STEADY_FROM / Moment::EVERY) as usize;
            let steady = &report.timeline[from..];
            let [first, last] =
                [steady.first(), steady.last()].map(|moment| moment.expect("a moment"));
            let seconds = (steady.len() - 1) as f64 * f64::from(Moment::EVERY / SECOND);
            (last.messages - first.messages) as f64 / seconds
        };
        LOADS.map(of).to_vec()
    })
    .by("sites")
}

const DEATH: &[Column] = &[
    Column::new(Contender::EVEN.name, 0),
    Column::new(Contender::CURVE.name, 0),
    Column::new(Contender::COUNTERS.name, 0),
    Column::new(Contender::ESCROW.name, 0),
    Column::new(Contender::IDEAL_HOLDS.name, 0),
];

/// The first and the last minute of the chart. The site dies in minute 20.
pub(super) const DEATH_MINUTES: [u32; 2] = [15, 35];

const MESSAGES: &[Column] =
    &[Column::new("load 1%", 0), Column::new("load 50%", 0), Column::new("load 130%", 0)];

/// The loads of these columns, as multiples of what can be served.
const LOADS: [f64; 3] = [0.01, 0.5, 1.3];

const SITES: [u16; 4] = [10, 100, 300, 1_000];

/// The time at which a load has been steady for longer than a visit, in milliseconds.
const STEADY_FROM: u32 = 12 * MINUTE;

/// The number of seeds with which messages are counted. They differ by a few percent.
const MESSAGE_SEEDS: usize = 3;
