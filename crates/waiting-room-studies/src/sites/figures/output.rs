//! The tables on paper, as files, and as pictures.

use std::{error::Error, fmt::Write, fs, path::Path};

use super::{pictures::pictures, study::Study};
use crate::sheets::{Bar, Sheet, csv, table};

/// The tables with their titles, and the bars.
pub(crate) fn print(study: &Study) {
    for sheet in &study.sheets {
        if !IS_A_PICTURE.contains(&sheet.name) {
            println!("{}\n\n{}\n", sheet.title, table(sheet));
        }
    }
    study.bars().iter().for_each(|bar| println!("{bar}"));
}

/// Writes `sites-*.csv`, `sites-*.svg` and `sites.md`, and the directory if there is none.
///
/// # Errors
///
/// Whatever keeps a file from being written.
pub(crate) fn write(study: &Study, directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    for sheet in &study.sheets {
        // What is calculated has one value, and no seed.
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

/// Tables with a line for each minute or percent, which nobody reads.
const IS_A_PICTURE: [&str; 2] = ["curve", "two-days"];

/// What the lines of a table are, where they are not policies.
const LINES: [(&str, &str); 2] = [("curve", "utilization %"), ("two-days", "hour")];
