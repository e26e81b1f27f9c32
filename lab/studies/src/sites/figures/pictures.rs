//! The tables as charts.

use svg::Document;

use super::timelines::DEATH_MINUTES;
use crate::{
    chart::{Axis, Bars, Curves, Panel, draw_bars, draw_curves},
    sheet::Sheet,
};

/// All charts, by name.
pub(super) fn pictures(seeds: &[u64], sheets: &[Sheet]) -> Vec<(&'static str, Document)> {
    let draw = |sheet: &Sheet| {
        let seeds = sheet.seeds_of(seeds);
        let bars = |panels: &[Panel<'_>]| draw_bars(seeds, &Bars { title: sheet.title, panels });
        let panel = |columns, unit| Panel { sheet, columns, unit, title: None, limit: None };
        let limited = |columns| Panel { limit: Some((100.0, "the limit")), ..panel(columns, "%") };
        let picture = match sheet.name {
            "death" => draw_curves(seeds, &death(sheet)),
            "first-queue" => bars(&[limited(&["nodes alike %", "skew 0.5 %", "skew 1.2 %"])]),
            "latency" => bars(&[panel(&["p50 ms", "p95 ms", "longest ms"], "ms")]),
            "messages" => draw_curves(seeds, &messages(sheet)),
            "order" => bars(&[
                panel(&["admitted before others %"], "%"),
                panel(&["before others by at most s", "wait wrong by p95 s"], "s"),
            ]),
            "overload" => bars(&[Panel {
                limit: Some((100.0, "the ideal ledger")),
                ..panel(&["of the ideal ledger %"], "%")
            }]),
            "spike" => bars(&[limited(&["highest active %"])]),
            _ => return None,
        };
        Some((sheet.name, picture))
    };
    sheets.iter().filter_map(draw).collect()
}

fn death(sheet: &Sheet) -> Curves<'_> {
    let [from, until] = DEATH_MINUTES.map(f64::from);
    Curves {
        sheet,
        columns: &["Even", "Curve, factor 1", "Counters", "Escrow", "ideal ledger"],
        across: Axis::between("minutes", from, until, 1.0),
        up: Axis::between("active visitors", 1_200.0, 2_200.0, 200.0),
        marks: &[(20.0, "the site dies"), (20.0 + 421.0 / 60.0, "421 s later")],
        limit: Some((2_000.0, "the limit")),
        has_band: false,
    }
}

fn messages(sheet: &Sheet) -> Curves<'_> {
    Curves {
        sheet,
        columns: &["load 1%", "load 50%", "load 130%"],
        across: Axis::logarithmic("sites", &[10.0, 30.0, 100.0, 300.0, 1_000.0]),
        up: Axis::logarithmic("messages in a second", &[10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]),
        marks: &[],
        limit: None,
        has_band: true,
    }
}
