//! Worlds in which policies break: sessions, traffic, limits, networks and faults that differ from
//! those of the other figures.

use super::{
    tables::percent,
    worlds::{self, Contender, Size},
};
use crate::{
    bar::{Bar, Bound},
    sheet::{Column, Line, Sheet, Spread, measure_each},
    sites::{report::Report, scenario::Scenario},
};

/// A world of its own, with a table of its own.
struct Break {
    /// The name of the table.
    name: &'static str,
    title: &'static str,
    /// The name in the charts.
    short: &'static str,
    world: fn() -> Scenario,
    /// The largest share of the visitors that wait too early with the escrow, in percent.
    early: f64,
    /// By how many seconds the escrow may admit a visitor before one who came earlier; infinite where a
    /// site is cut off, whose visitors are overtaken meanwhile.
    order: f64,
    /// The policies whose known weakness is a bar, the figure, and its bound.
    weak: &'static [(Contender, &'static str, Bound)],
}

/// The tables of these worlds, and those of the charts.
pub(super) fn breaks(seeds: &[u64], size: Size) -> Vec<Sheet> {
    let wanted = |case: &Break| match size {
        Size::Full => CONTENDERS.to_vec(),
        Size::Quick => case.contenders_with_bars(),
    };
    let runs = BREAKS.iter().flat_map(|case| wanted(case).into_iter().map(move |who| (case, who)));
    let items: Vec<_> = runs.map(|(case, who)| (who.name.to_owned(), (case, who))).collect();
    let reports = measure_each(seeds, &items, |(case, who), seed| who.run(&(case.world)(), seed));
    let of = |case: &Break| {
        let lines =
            items.iter().zip(&reports).filter(|((_, (other, _)), _)| other.name == case.name);
        lines.map(|((name, _), reports)| (name.clone(), reports.as_slice())).collect::<Vec<_>>()
    };
    let tables = BREAKS.iter().map(|case| case.table(&of(case)));
    let mut sheets: Vec<_> = tables.collect();
    if size == Size::Full {
        let by_world = |head, column| by_world(head, &sheets, column);
        let early = by_world(("breaks", "Where each policy breaks"), "too early %");
        let admitted = by_world(("breaks-admitted", "Visitors admitted"), ADMITTED);
        sheets.extend([early, admitted]);
    }
    sheets
}

/// Three hundred sites with faults, with fewer seeds and policies.
pub(super) fn three_hundred_sites(seeds: &[u64]) -> Sheet {
    let case = &THREE_HUNDRED_SITES;
    let seeds = &seeds[..seeds.len().min(LARGE_SEEDS)];
    let items = [Contender::COUNTERS, Contender::ESCROW, Contender::IDEAL_HOLDS];
    let items = items.map(|who| (who.name.to_owned(), who));
    let world = (case.world)();
    let reports = measure_each(seeds, &items, |who, seed| who.run(&world, seed));
    let runs = items.iter().zip(&reports);
    case.table(
        &runs.map(|((name, _), reports)| (name.clone(), reports.as_slice())).collect::<Vec<_>>(),
    )
}

/// The bars of these worlds: what the escrow promises, and the known weaknesses of other policies.
pub(super) fn bars(sheet: impl Fn(&str) -> Option<Sheet>) -> Vec<Bar> {
    let each = BREAKS.iter().map(|case| (case, sheet(case.name).expect("a table of every study")));
    let large = sheet(THREE_HUNDRED_SITES.name).map(|sheet| (&THREE_HUNDRED_SITES, sheet));
    each.chain(large).flat_map(|(case, sheet)| case.bars(&sheet)).collect()
}

/// One figure of all these worlds, with a line for each world and a column for each policy.
fn by_world(head: (&'static str, &'static str), sheets: &[Sheet], column: &'static str) -> Sheet {
    let lines = BREAKS.iter().zip(sheets).map(|(case, sheet)| {
        let figure = |policy: &Column| -> Spread {
            let mut figures = sheet.figures(column, |name| name == policy.name);
            figures.next().expect("a line for each policy").1.clone()
        };
        Line { name: case.short.to_owned(), figures: BY_POLICY.iter().map(figure).collect() }
    });
    let (name, title) = head;
    Sheet { name, title, columns: BY_POLICY, lines: lines.collect() }
}

impl Break {
    /// The policies whose figures have bars, and the reference.
    fn contenders_with_bars(&self) -> Vec<Contender> {
        let weak = self.weak.iter().map(|(who, ..)| *who);
        let all = CONTENDERS.iter().filter(|contender| {
            let mut others = weak.clone().chain([Contender::ESCROW, Contender::IDEAL_HOLDS]);
            others.any(|other| other.name == contender.name)
        });
        all.copied().collect()
    }

    fn bars(&self, sheet: &Sheet) -> Vec<Bar> {
        let escrow = [
            ("highest active %", Bound::AtMost(100.0)),
            ("most new in a minute %", Bound::AtMost(100.0)),
            ("too early %", Bound::AtMost(self.early)),
            (ORDER, Bound::AtMost(self.order)),
        ];
        let is_finite = |(_, bound): &(_, Bound)| !matches!(bound, Bound::AtMost(f64::INFINITY));
        let escrow = escrow
            .into_iter()
            .filter(is_finite)
            .map(|(column, bound)| (Contender::ESCROW, column, bound));
        let bar = |(who, column, bound): (Contender, &str, Bound)| {
            Bar::of(sheet, column, |name| name == who.name, bound)
        };
        escrow.chain(self.weak.iter().copied()).flat_map(bar).collect()
    }

    fn table(&self, runs: &[(String, &[Report])]) -> Sheet {
        let ideal = runs.last().expect("the last is the ideal one").1;
        let lines = runs.iter().map(|(name, reports)| {
            let by_seed = reports.iter().zip(ideal).map(|(report, ideal)| figures(report, ideal));
            (name.clone(), by_seed.collect())
        });
        Sheet::new((self.name, self.title), COLUMNS, lines)
    }
}

fn figures(report: &Report, ideal: &Report) -> Vec<f64> {
    vec![
        report.admitted as f64,
        100.0 * report.admitted as f64 / ideal.admitted as f64,
        percent(report.util_at_first_early_queue),
        report.early_queued as f64,
        100.0 * report.early_queued_share,
        100.0 * report.max_active_over_limit,
        100.0 * report.max_new_in_any_minute_over_limit,
        f64::from(report.worst_inversion_s),
        report.ledger_messages_per_s,
    ]
}

const ADMITTED: &str = "of the ideal ledger %";
const ORDER: &str = "before others by at most s";

const COLUMNS: &[Column] = &[
    Column::new("admitted", 0),
    Column::new(ADMITTED, 1),
    Column::new("first too early %", 1),
    Column::new("too early", 0),
    Column::new("too early %", 2),
    Column::new("highest active %", 1),
    Column::new("most new in a minute %", 1),
    Column::new(ORDER, 0),
    Column::new("messages a second", 0),
];

/// The policies under comparison. The last one is the reference.
const CONTENDERS: [Contender; 5] = [
    Contender::EVEN,
    Contender::CURVE,
    Contender::COUNTERS,
    Contender::ESCROW,
    Contender::IDEAL_HOLDS,
];

const BY_POLICY: &[Column] = &[
    Column::new(Contender::EVEN.name, 1),
    Column::new(Contender::CURVE.name, 1),
    Column::new(Contender::COUNTERS.name, 1),
    Column::new(Contender::ESCROW.name, 1),
];

const BREAKS: [Break; 8] = [
    Break {
        name: "short-sessions",
        title: "Sessions of a few seconds, in a room that is half full",
        short: "sessions of a few seconds",
        world: worlds::short_sessions,
        early: 0.0,
        order: 0.0,
        weak: &[(Contender::COUNTERS, ADMITTED, Bound::AtMost(50.0))],
    },
    Break {
        name: "wandering-traffic",
        title: "Traffic that moves on every four minutes, at 90% of what can be served",
        short: "traffic that moves on",
        world: worlds::wandering_traffic,
        early: 0.0,
        order: 0.0,
        weak: &[(Contender::COUNTERS, "first too early %", Bound::AtMost(90.0))],
    },
    Break {
        name: "more-nodes-than-slots",
        title: "Ninety nodes for 37 slots",
        short: "more nodes than slots",
        world: worlds::more_nodes_than_slots,
        early: 0.0,
        order: 300.0,
        weak: &[(Contender::EVEN, "admitted", Bound::AtMost(0.0))],
    },
    Break {
        name: "few-new-visitors",
        title: "A limit of 60 new visitors a minute in a room for 50 000",
        short: "60 new visitors a minute",
        world: worlds::few_new_visitors,
        early: 0.0,
        order: 150.0,
        weak: &[(Contender::COUNTERS, "most new in a minute %", Bound::AtLeast(100.0))],
    },
    Break {
        name: "jitter",
        title: "Thirty sites with round trips between 20 and 900 ms",
        short: "round trips of 20 to 900 ms",
        world: worlds::jitter,
        early: 0.2,
        order: 150.0,
        weak: &[],
    },
    Break {
        name: "crowd-at-many-sites",
        title: "A crowd of ten times as many visitors at thirty sites",
        short: "a crowd at thirty sites",
        world: worlds::crowd_at_many_sites,
        early: 0.0,
        order: 150.0,
        weak: &[],
    },
    Break {
        name: "cut-for-long",
        title: "The largest site is cut off for 18 minutes, and returns when the room is full",
        short: "a site cut off for 18 minutes",
        world: worlds::cut_for_long,
        early: 3.0,
        order: f64::INFINITY,
        weak: &[],
    },
    Break {
        name: "flapping-sites",
        title: "Two of three sites are cut off again and again",
        short: "sites that flap",
        world: worlds::flapping_sites,
        early: 4.0,
        order: f64::INFINITY,
        weak: &[],
    },
];

const THREE_HUNDRED_SITES: Break = Break {
    name: "three-hundred-sites-faults",
    title: "Three hundred sites: one dies, one is cut off, one flaps, round trips of 20 to 900 ms",
    short: "300 sites with faults",
    world: worlds::three_hundred_sites,
    early: 0.2,
    order: f64::INFINITY,
    weak: &[],
};

/// The number of seeds of the largest world.
const LARGE_SEEDS: usize = 5;
