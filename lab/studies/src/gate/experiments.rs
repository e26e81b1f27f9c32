//! The experiments.

use std::time::Duration;

use waiting_room_core::gate::{Discipline, GateRules, Tenants};

use super::{
    open_loop::{Span, run},
    policies::{Policy, QUEUE},
    tally::Tally,
    traffic::{Abandonment, LIMIT, Source, Traffic},
};
use crate::sheet::{Column, Sheet};

/// The effect of the longest wait, at twice the capacity, on clients that leave after 250 ms.
pub(super) fn cliff(seeds: &[u64], span: Span, step: u64) -> Sheet {
    let items: Vec<_> = (20..=320).step_by(usize::try_from(step).unwrap_or(1)).collect();
    let items: Vec<_> = items.iter().map(|&wait: &u64| (format!("{wait}"), wait)).collect();
    let head = ("cliff", "Goodput by the longest wait, at twice the capacity");
    Sheet::measure(head, CLIFF, seeds, &items, |&wait, seed| {
        let max_wait = Duration::from_millis(wait);
        let goodput = |discipline| {
            let rules =
                GateRules::new(LIMIT).queue(QUEUE).max_wait(max_wait).discipline(discipline);
            one(&rules, &impatient(Source::steady(200)), span, seed).goodput(LIMIT, span.counted)
        };
        vec![goodput(Discipline::Fifo), goodput(Discipline::default())]
    })
}

/// Each policy at three multiples of the capacity.
pub(super) fn overload(seeds: &[u64], span: Span, abandonment: Abandonment) -> Sheet {
    let head = match abandonment {
        Abandonment::Noticed => ("overload-noticed", "Overload, clients that leave are noticed"),
        Abandonment::Unnoticed => ("overload", "Overload, clients that leave are not noticed"),
    };
    let policies = vec![
        Policy::unbounded(),
        Policy::fifo(QUEUE, 500),
        Policy::fifo(QUEUE, 100),
        Policy::short(),
        Policy::adaptive_lifo(),
        Policy::controlled_delay(),
        Policy::delay(5, 100),
        Policy::unchanged(),
    ];
    Sheet::measure(head, OVERLOAD, seeds, &by_name(policies), |rules, seed| {
        let at = |percent| {
            let traffic = Traffic { abandonment, ..impatient(Source::steady(percent)) };
            let tally = one(rules, &traffic, span, seed);
            [tally.goodput(LIMIT, span.counted), tally.percentile(0.5), tally.percentile(0.99)]
        };
        [at(120), at(200), at(1_000)].concat()
    })
}

/// A load of six tenths of the capacity, and every two seconds four times the capacity for 150 ms.
pub(super) fn bursts(seeds: &[u64], span: Span) -> Sheet {
    let policies = vec![
        Policy::none(),
        Policy::short(),
        Policy::fifo(QUEUE, 100),
        Policy::fifo(QUEUE, 200),
        Policy::fifo(QUEUE, 500),
        Policy::delay(5, 100),
        Policy::delay(20, 300),
        Policy::delay(50, 500),
        Policy::delay(50, 1_000),
        Policy::controlled_delay(),
        Policy::adaptive_lifo(),
        Policy::unchanged(),
    ];
    let head = ("bursts", "Bursts of four times the capacity, for 150 ms every 2 s");
    Sheet::measure(head, BURSTS, seeds, &by_name(policies), |rules, seed| {
        let patience = Duration::from_millis(500);
        let traffic = Traffic { patience, ..impatient(Source::bursts()) };
        let tally = one(rules, &traffic, span, seed);
        vec![tally.success(), tally.percentile(0.5), tally.percentile(0.99)]
    })
}

/// One elephant with three times the capacity, and eight mice with a twentieth each.
pub(super) fn fairness(seeds: &[u64], span: Span) -> Sheet {
    let fair = |tenants, names| (Policy::fair(tenants), names);
    let policies = [
        (Policy::fifo(QUEUE, 100), 1),
        fair(Tenants::Each, 1),
        fair(Tenants::Each, 16),
        fair(Tenants::Each, 1_000),
        fair(Tenants::Shuffled, 1),
        fair(Tenants::Shuffled, 4),
        fair(Tenants::Shuffled, 16),
        fair(Tenants::Shuffled, 1_000),
        (Policy::priority(), 1),
    ];
    let items = policies.map(|(policy, names)| {
        let plural = if names == 1 { "name" } else { "names" };
        (format!("{}, {names} {plural}", policy.name), (policy.rules, names))
    });
    let head = ("fairness", "An elephant at three times the capacity, and eight mice");
    Sheet::measure(head, FAIRNESS, seeds, &items, |(rules, names), seed| {
        let elephant = Source::steady(300).class(1).names(*names);
        let sources = [vec![Source::steady(5); 8], vec![elephant]].concat();
        let traffic = Traffic { sources, ..impatient(Source::steady(0)) };
        let mut mice = run(rules, &traffic, span, seed);
        let elephant = mice.pop().unwrap_or_default();
        let mice = Tally::sum(&mice);
        vec![
            mice.success(),
            mice.percentile(0.5),
            mice.percentile(0.99),
            elephant.success(),
            elephant.percentile(0.99),
        ]
    })
}

/// Clients who wait for 250 ms, and leave without notice.
fn impatient(source: Source) -> Traffic {
    Traffic {
        sources: vec![source],
        patience: Duration::from_millis(250),
        abandonment: Abandonment::Unnoticed,
    }
}

/// The sum over all clients.
fn one(rules: &GateRules, traffic: &Traffic, span: Span, seed: u64) -> Tally {
    Tally::sum(&run(rules, traffic, span, seed))
}

fn by_name(policies: Vec<Policy>) -> Vec<(String, GateRules)> {
    policies.into_iter().map(|policy| (policy.name, policy.rules)).collect()
}

const CLIFF: &[Column] =
    &[Column::new("Fifo: goodput %", 1), Column::new("ControlledDelay: goodput %", 1)];

const OVERLOAD: &[Column] = &[
    Column::new("1.2x: goodput %", 1),
    Column::new("1.2x: p50 ms", 0),
    Column::new("1.2x: p99 ms", 0),
    Column::new("2x: goodput %", 1),
    Column::new("2x: p50 ms", 0),
    Column::new("2x: p99 ms", 0),
    Column::new("10x: goodput %", 1),
    Column::new("10x: p50 ms", 0),
    Column::new("10x: p99 ms", 0),
];

const BURSTS: &[Column] =
    &[Column::new("success %", 1), Column::new("p50 ms", 0), Column::new("p99 ms", 0)];

const FAIRNESS: &[Column] = &[
    Column::new("mice: success %", 1),
    Column::new("mice: p50 ms", 0),
    Column::new("mice: p99 ms", 0),
    Column::new("elephant: success %", 1),
    Column::new("elephant: p99 ms", 0),
];
