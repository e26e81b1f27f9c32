//! The figures as tables, as files, and as charts.

use std::{error::Error, fs, path::Path};

use svg::Document;

use super::study::Study;
use crate::{
    chart::{Axis, Bars, Curves, draw_bars, draw_curves},
    sheet::{csv, table},
};

/// Prints the tables with their titles, and the bars.
pub(crate) fn print(study: &Study) {
    for sheet in study.sheets() {
        // The figures for each second are only drawn.
        if sheet.name != study.crowd_seconds.name {
            println!("{}\n\n{}\n", sheet.title, table(sheet));
        }
    }
    study.bars().iter().for_each(|bar| println!("{bar}"));
}

/// Writes `gate-*.csv` and `gate-*.svg`. Creates the directory if it does not exist.
///
/// # Errors
///
/// A file cannot be written.
pub(crate) fn write(study: &Study, directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    for sheet in study.sheets() {
        let file = directory.join(format!("gate-{}.csv", sheet.name));
        fs::write(file, csv(sheet, "policy", &study.seeds)?)?;
    }
    for (name, picture) in pictures(study) {
        svg::save(directory.join(format!("gate-{name}.svg")), &picture)?;
    }
    Ok(())
}

/// All charts, by name.
pub(super) fn pictures(study: &Study) -> Vec<(&'static str, Document)> {
    let (cliff, seconds) = (&study.cliff, &study.crowd_seconds);
    vec![
        (
            cliff.name,
            draw_curves(
                &study.seeds,
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
                &study.seeds,
                &Bars {
                    sheet: &study.overload,
                    columns: &["1.2x: goodput %", "2x: goodput %", "10x: goodput %"],
                    across: percent(),
                },
            ),
        ),
        (
            study.bursts.name,
            draw_bars(
                &study.seeds,
                &Bars { sheet: &study.bursts, columns: &["success %"], across: percent() },
            ),
        ),
        (
            study.fairness.name,
            draw_bars(
                &study.seeds,
                &Bars {
                    sheet: &study.fairness,
                    columns: &["mice: success %", "elephant: success %"],
                    across: percent(),
                },
            ),
        ),
        (
            study.crowd.name,
            draw_curves(
                &study.seeds,
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

/// An axis from 0 to 100.
const fn percent() -> Axis {
    Axis { name: "%", most: 100.0, step: 25.0 }
}
