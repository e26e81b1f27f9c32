//! The tables as text, as files, and as charts.

use std::{error::Error, fs, path::Path};

use super::{pictures::pictures, study::Study};
use crate::sheet::{csv, table};

/// Prints the tables with their titles, and the bars.
pub(crate) fn print(study: &Study) {
    for sheet in &study.sheets {
        if !IS_A_PICTURE.contains(&sheet.name) {
            println!("{}\n\n{}\n", sheet.title, table(sheet));
        }
    }
    study.bars().iter().for_each(|bar| println!("{bar}"));
}

/// Writes `sites-*.csv` and `sites-*.svg`. Creates the directory if it does not exist.
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
    Ok(())
}

/// Tables with a line for each moment or percent, which are only drawn.
const IS_A_PICTURE: [&str; 3] = ["curve", "death", "two-days"];

/// The meaning of the lines of a table, where they are not policies.
const LINES: [(&str, &str); 6] = [
    ("breaks", "world"),
    ("breaks-admitted", "world"),
    ("curve", "utilization %"),
    ("death", "minute"),
    ("messages", "sites"),
    ("two-days", "hour"),
];
