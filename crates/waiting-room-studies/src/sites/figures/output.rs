//! The tables as text, as files, and as charts.

use std::{error::Error, fmt::Write, fs, path::Path};

use svg::Document;

use super::study::Study;
use crate::{
    bar::Bar,
    chart::{Axis, Bars, Curves, draw_bars, draw_curves},
    sheet::{Sheet, csv, table},
};

/// Prints the tables with their titles, and the bars.
pub(crate) fn print(study: &Study) {
    for sheet in &study.sheets {
        if !IS_A_PICTURE.contains(&sheet.name) {
            println!("{}\n\n{}\n", sheet.title, table(sheet));
        }
    }
    study.bars().iter().for_each(|bar| println!("{bar}"));
}

/// Writes `sites-*.csv`, `sites-*.svg` and `sites.md`. Creates the directory if it does not exist.
///
/// # Errors
///
/// A file cannot be written.
pub(crate) fn write(study: &Study, directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    for sheet in &study.sheets {
        // A calculated figure has one value and no seed.
        let seeds = match study.seeds_of(sheet) {
            [] => &[0],
            seeds => seeds,
        };
        let what = LINES.iter().find(|(name, _)| *name == sheet.name);
        let file = csv(sheet, what.map_or("policy", |(_, what)| what), seeds)?;
        fs::write(directory.join(format!("sites-{}.csv", sheet.name)), file)?;
    }
    for (name, picture) in pictures(study) {
        svg::save(directory.join(format!("sites-{name}.svg")), &picture)?;
    }
    fs::write(directory.join("sites.md"), markdown(&study.seeds, &study.sheets, &study.bars())?)?;
    Ok(())
}

/// All tables and bars as one page.
pub(super) fn markdown(
    seeds: &[u64],
    sheets: &[Sheet],
    bars: &[Bar],
) -> Result<String, std::fmt::Error> {
    let mut page = String::from("# Many sites: the figures\n\n");
    let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
    writeln!(
        page,
        "Made by `waiting-room-studies figures` with the seeds {}. Each figure is the mean over the\n\
         seeds, and how far the seed that is the farthest off is from it.",
        seeds.join(", "),
    )?;
    for sheet in sheets.iter().filter(|sheet| !IS_A_PICTURE.contains(&sheet.name)) {
        write!(page, "\n## {}\n\n{}\n", sheet.title, table(sheet))?;
    }
    page.push_str("\n## Bars\n\nThe worst of all seeds; or their mean, where it is said.\n\n");
    for bar in bars {
        writeln!(page, "- {bar}")?;
    }
    Ok(page)
}

/// Tables with a line for each minute or percent, which are only drawn.
const IS_A_PICTURE: [&str; 2] = ["curve", "two-days"];

/// The meaning of the lines of a table, where they are not policies.
const LINES: [(&str, &str); 2] = [("curve", "utilization %"), ("two-days", "hour")];

/// All charts, by name.
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
