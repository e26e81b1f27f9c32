//! The figures as charts.

use svg::Document;

use super::study::Study;
use crate::{
    chart::{Axis, Bars, Curves, Panel, draw_bars, draw_curves},
    sheet::Sheet,
};

/// All charts, by name.
pub(super) fn pictures(study: &Study) -> Vec<(&'static str, Document)> {
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
