//! The measurements, as tables.

use super::worlds::{self, Contender};
use crate::{
    figures::Size,
    sheet::{Column, Sheet, measure_each},
    sites::report::Report,
};

/// The utilization of the room when the first visitor has to wait.
pub(super) fn first_queue(seeds: &[u64], size: Size) -> Sheet {
    let head = ("first-queue", "How full the room is when the first visitor has to wait");
    let skewed = [0.0, 0.5, 1.2].map(worlds::ramp);
    let contenders = contenders(size, &[Contender::EVEN, Contender::COUNTERS]);
    Sheet::measure(head, FIRST_QUEUE, seeds, &contenders, |contender, seed| {
        let first = |world| percent(contender.run(world, seed).util_at_first_queue);
        skewed.iter().map(first).collect()
    })
}

/// The ramp under each policy: latency, throughput and order.
pub(super) fn ramp(seeds: &[u64]) -> Vec<Sheet> {
    let world = worlds::ramp(0.0);
    let names = contenders(Size::Full, &[]);
    let runs = measure_each(seeds, &names, |contender, seed| contender.run(&world, seed));
    let reports_of = |contender: Contender| {
        let index = names.iter().position(|(name, _)| name == contender.name);
        &runs[index.expect("one of all policies")]
    };
    let holds = reports_of(Contender::IDEAL_HOLDS);
    let at_once = reports_of(Contender::IDEAL);
    let ideals = holds.iter().zip(at_once).map(|(holds, at_once)| Ideals { holds, at_once });
    let ideals: Vec<_> = ideals.collect();
    let sheet = |head, columns, figures: &dyn Fn(&Report, &Ideals<'_>) -> Vec<f64>| {
        let lines = names.iter().zip(&runs).map(|((name, _), reports)| {
            let by_seed =
                reports.iter().zip(&ideals).map(|(report, ideals)| figures(report, ideals));
            (name.clone(), by_seed.collect())
        });
        Sheet::new(head, columns, lines)
    };
    vec![
        sheet(
            ("latency", "The wait of new visitors for the first answer"),
            LATENCY,
            &|report, _| {
                vec![
                    report.answer_p50_ms as f64,
                    report.answer_p95_ms as f64,
                    report.answer_max_ms as f64,
                    report.told_to_wait_max_ms as f64,
                    report.site_trips_per_new,
                    report.wan_trips_per_new,
                    report.trips_per_returning,
                    report.ledger_messages_per_s,
                ]
            },
        ),
        sheet(
            ("overload", "Visitors admitted while more arrive than can be served"),
            OVERLOAD,
            &|report, Ideals { holds, at_once }| {
                vec![
                    report.admitted as f64,
                    100.0 * report.admitted as f64 / holds.admitted as f64,
                    100.0 * report.early_slot_seconds / at_once.early_slot_seconds,
                    100.0 * report.max_active_over_limit,
                ]
            },
        ),
        sheet(
            ("order", "The order of the line, and the wait that was shown"),
            ORDER,
            &|report, _| {
                vec![
                    100.0 * report.inversions as f64 / report.admitted as f64,
                    f64::from(report.worst_inversion_s),
                    report.wait_p50_s.unwrap_or(f64::NAN),
                    report.wait_error_p50_s.unwrap_or(f64::NAN),
                    report.wait_error_p95_s.unwrap_or(f64::NAN),
                ]
            },
        ),
    ]
}

/// The runs of the ideal ledgers with one seed.
struct Ideals<'a> {
    holds: &'a Report,
    at_once: &'a Report,
}

/// A spike from a tenth of the limit to one and a half times the visitors that may be admitted.
pub(super) fn spike(seeds: &[u64], size: Size) -> Sheet {
    let head = ("spike", "Highest number of active users after a spike from a tenth of the limit");
    let world = worlds::spike();
    let contenders = contenders(size, &[Contender::CURVE, Contender::ESCROW]);
    Sheet::measure(head, SPIKE, seeds, &contenders, |contender, seed| {
        let report = contender.run(&world, seed);
        vec![
            100.0 * report.max_active_over_limit,
            report.overshoot_user_seconds,
            100.0 * report.max_new_in_any_minute_over_limit,
        ]
    })
}

/// The largest site fails for good.
pub(super) fn dead_site(seeds: &[u64], size: Size) -> Sheet {
    let head = ("dead-site", "The largest of eight sites is gone");
    let world = worlds::dead_site();
    let contenders = contenders(size, &[Contender::ESCROW]);
    Sheet::measure(head, DEAD_SITE, seeds, &contenders, |contender, seed| {
        let report = contender.run(&world, seed);
        vec![
            percent(report.util_at_first_early_queue),
            report.early_queued as f64,
            100.0 * report.max_active_over_limit,
            f64::from(report.max_stranded_slots),
            report.recovery_s.unwrap_or(f64::NAN),
        ]
    })
}

/// The largest site is cut off for a quarter of an hour, and its visitors keep arriving at it.
pub(super) fn cut_site(seeds: &[u64]) -> Sheet {
    let head = ("cut-site", "The largest of eight sites is cut off from the others");
    let world = worlds::cut_site();
    Sheet::measure(head, CUT_SITE, seeds, &contenders(Size::Full, &[]), |contender, seed| {
        let report = contender.run(&world, seed);
        vec![
            percent(report.util_at_first_early_queue),
            report.early_queued as f64,
            report.admitted as f64,
            100.0 * report.max_active_over_limit,
            report.told_to_wait_max_ms as f64,
        ]
    })
}

/// All policies, or those with bars if only the bars are needed.
fn contenders(size: Size, with_bars: &[Contender]) -> Vec<(String, Contender)> {
    let wanted = match size {
        Size::Full => &Contender::ALL,
        Size::Quick => with_bars,
    };
    wanted.iter().map(|contender| (contender.name.to_owned(), *contender)).collect()
}

/// A share as a percentage. Not a number if there is none.
pub(super) fn percent(share: Option<f64>) -> f64 {
    share.map_or(f64::NAN, |share| 100.0 * share)
}

const FIRST_QUEUE: &[Column] =
    &[Column::new("nodes alike %", 1), Column::new("skew 0.5 %", 1), Column::new("skew 1.2 %", 1)];

const LATENCY: &[Column] = &[
    Column::new("p50 ms", 0),
    Column::new("p95 ms", 0),
    Column::new("longest ms", 0),
    Column::new("longest to the queue ms", 0),
    Column::new("site trips", 2),
    Column::new("world trips", 2),
    Column::new("trips of returning visitors", 2),
    Column::new("messages a second", 0),
];

const OVERLOAD: &[Column] = &[
    Column::new("admitted", 0),
    Column::new("of the ideal ledger %", 1),
    Column::new("idle slots, of the ideal at once %", 1),
    Column::new("highest active %", 1),
];

const ORDER: &[Column] = &[
    Column::new("admitted before others %", 1),
    Column::new("before others by at most s", 0),
    Column::new("wait p50 s", 0),
    Column::new("wait wrong by p50 s", 0),
    Column::new("wait wrong by p95 s", 0),
];

const SPIKE: &[Column] = &[
    Column::new("highest active %", 1),
    Column::new("user-seconds above", 0),
    Column::new("new in any minute %", 1),
];

const DEAD_SITE: &[Column] = &[
    Column::new("first too early %", 1),
    Column::new("too early", 0),
    Column::new("highest active %", 1),
    Column::new("stranded slots", 0),
    Column::new("for s", 0),
];

const CUT_SITE: &[Column] = &[
    Column::new("first too early %", 1),
    Column::new("too early", 0),
    Column::new("admitted", 0),
    Column::new("highest active %", 1),
    Column::new("longest to the queue ms", 0),
];
