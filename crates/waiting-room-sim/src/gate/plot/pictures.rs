//! What is drawn.

use svg::Document;

use super::{
    bars::{Bars, draw_bars},
    curves::{Axis, Curves, draw_curves},
};
use crate::gate::study::Study;

/// Every picture, by its name.
pub(in crate::gate) fn pictures(study: &Study) -> Vec<(&'static str, Document)> {
    let (cliff, seconds) = (&study.cliff, &study.crowd_seconds);
    vec![
        (
            cliff.name,
            draw_curves(
                study,
                &Curves {
                    sheet: cliff,
                    columns: &["Fifo: goodput %", "ControlledDelay: goodput %"],
                    across: Axis { name: "longest wait, ms", most: 320.0, step: 50.0 },
                    up: Axis { name: "goodput, % of the capacity", most: 100.0, step: 25.0 },
                    mark: Some((250.0, "the client leaves")),
                },
            ),
        ),
        (
            study.overload.name,
            draw_bars(
                study,
                &Bars {
                    sheet: &study.overload,
                    columns: &["1.2x: goodput %", "2x: goodput %", "10x: goodput %"],
                },
            ),
        ),
        (
            study.bursts.name,
            draw_bars(study, &Bars { sheet: &study.bursts, columns: &["success %"] }),
        ),
        (
            study.fairness.name,
            draw_bars(
                study,
                &Bars {
                    sheet: &study.fairness,
                    columns: &["mice: success %", "elephant: success %"],
                },
            ),
        ),
        (
            study.crowd.name,
            draw_curves(
                study,
                &Curves {
                    sheet: seconds,
                    columns: &["1 s for all", "30 s for all", "virtual slot"],
                    across: Axis {
                        name: "seconds after the first of the crowd",
                        most: 75.0,
                        step: 15.0,
                    },
                    up: Axis { name: "requests in a second", most: 6_000.0, step: 1_000.0 },
                    mark: None,
                },
            ),
        ),
    ]
}
