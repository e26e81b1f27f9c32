//! What is drawn.

use svg::Document;

use super::study::Study;
use crate::sheets::{Axis, Bars, Curves, Sheet, draw_bars, draw_curves};

/// Every picture, by its name.
pub(super) fn pictures(study: &Study) -> Vec<(&'static str, Document)> {
    let draw = |sheet: &Sheet| {
        let seeds = study.seeds_of(sheet);
        let bars = |columns, across| draw_bars(seeds, &Bars { sheet, columns, across });
        let picture = match sheet.name {
            "curve" => draw_curves(seeds, &curve(sheet)),
            "first-queue" => bars(
                &["nodes alike %", "skew 0.5 %", "skew 1.2 %"],
                Axis { name: "%", most: 100.0, step: 25.0 },
            ),
            "latency" => bars(&["p50 ms", "p95 ms"], Axis { name: "ms", most: 200.0, step: 50.0 }),
            "move" => bars(&["wait too early %"], Axis { name: "%", most: 100.0, step: 25.0 }),
            "order" => bars(
                &["before others by at most s", "wait wrong by p95 s"],
                Axis { name: "s", most: 600.0, step: 100.0 },
            ),
            "overload" => {
                bars(&["of one that knows all %"], Axis { name: "%", most: 110.0, step: 25.0 })
            }
            "spike" => bars(&["highest active %"], Axis { name: "%", most: 180.0, step: 25.0 }),
            "two-days" => draw_curves(seeds, &two_days(sheet)),
            _ => return None,
        };
        Some((sheet.name, picture))
    };
    study.sheets.iter().filter_map(draw).collect()
}

fn curve(sheet: &Sheet) -> Curves<'_> {
    Curves {
        sheet,
        columns: &["even", "factor 0.25", "factor 1", "factor 2"],
        across: Axis { name: "active users, % of the limit", most: 100.0, step: 25.0 },
        up: Axis { name: "slots of one node", most: 120.0, step: 20.0 },
        mark: Some((25.0, "the example of the article")),
    }
}

fn two_days(sheet: &Sheet) -> Curves<'_> {
    Curves {
        sheet,
        columns: &["active", "new in a minute", "waiting"],
        across: Axis { name: "hours", most: 48.0, step: 6.0 },
        up: Axis { name: "visitors", most: 250.0, step: 50.0 },
        mark: Some((35.75, "11:45")),
    }
}
