//! The figures of all experiments, and their charts.

use svg::Document;

use super::study::{Study, bars, measure};
use crate::{
    chart::{Axis, Bars, Curves, Panel, draw_bars, draw_curves},
    figures::{Figures, Size},
    sheet::Sheet,
};

/// Runs all experiments.
pub(crate) fn run(seeds: &[u64], size: Size) -> Figures {
    let study = measure(seeds, size);
    Figures {
        name: "gate",
        bars: bars(&study),
        pictures: pictures(&study),
        seeds: study.seeds,
        sheets: vec![
            study.cliff,
            study.overload,
            study.overload_noticed,
            study.bursts,
            study.fairness,
            study.crowd,
            study.crowd_seconds,
        ],
    }
}

/// All charts, by name.
fn pictures(study: &Study) -> Vec<(&'static str, Document)> {
    let cliff = &study.cliff;
    let seconds = &study.crowd_seconds;
    let bars = |sheet: &Sheet, columns| {
        let panel = Panel { sheet, columns, unit: "%", title: None, limit: None };
        (sheet.name, draw_bars(&study.seeds, &Bars { title: sheet.title, panels: &[panel] }))
    };
    let curves = |curves: &Curves<'_>| draw_curves(&study.seeds, curves);
    vec![
        (
            cliff.name,
            curves(&Curves {
                sheet: cliff,
                columns: &["Fifo: goodput %", "ControlledDelay: goodput %"],
                across: Axis::new("longest wait, ms", 320.0, 40.0),
                up: Axis::new("goodput, % of the capacity", 100.0, 25.0),
                marks: &[(250.0, "the client leaves")],
                limit: None,
                has_band: true,
            }),
        ),
        bars(&study.overload, &["1.2x: goodput %", "2x: goodput %", "10x: goodput %"]),
        bars(&study.bursts, &["success %"]),
        bars(&study.fairness, &["mice: success %", "elephant: success %"]),
        (
            study.crowd.name,
            curves(&Curves {
                sheet: seconds,
                columns: &["1 s for all", "30 s for all", "virtual slot"],
                across: Axis::new("seconds after the first of the crowd", 75.0, 15.0),
                up: Axis::new("requests in a second", 6_000.0, 1_000.0),
                marks: &[],
                limit: None,
                has_band: true,
            }),
        ),
    ]
}
