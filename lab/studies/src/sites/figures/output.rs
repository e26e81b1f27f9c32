//! The tables as text, as files, and as charts.

use std::{error::Error, fs, path::Path};

use super::{pictures::pictures, study::Study};
use crate::sheet::{csv, table};

/// Prints the tables with their titles, and the bars.
pub(crate) fn print(study: &Study) {
    // It has a line for each moment, and is only drawn.
    for sheet in &study.sheets {
        if sheet.name != "death" {
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
        let what = LINES.iter().find(|(name, _)| *name == sheet.name);
        let file = csv(sheet, what.map_or("policy", |(_, what)| what), study.seeds_of(sheet))?;
        fs::write(directory.join(format!("sites-{}.csv", sheet.name)), file)?;
    }
    for (name, picture) in pictures(study) {
        svg::save(directory.join(format!("sites-{name}.svg")), &picture)?;
    }
    Ok(())
}

/// The meaning of the lines of a table, where they are not policies.
const LINES: [(&str, &str); 2] = [("death", "minute"), ("messages", "sites")];
