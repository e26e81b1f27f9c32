//! The figures as tables, as files, and as pictures.

use std::{error::Error, fs, path::Path};

use super::{pictures::pictures, study::Study};
use crate::sheets::{csv, table};

/// The tables with their titles, and the bars.
pub(crate) fn print(study: &Study) {
    for sheet in study.sheets() {
        // Second by second it is a picture.
        if sheet.name != study.crowd_seconds.name {
            println!("{}\n\n{}\n", sheet.title, table(sheet));
        }
    }
    study.bars().iter().for_each(|bar| println!("{bar}"));
}

/// Writes `gate-*.csv` and `gate-*.svg`, and the directory if there is none.
///
/// # Errors
///
/// Whatever keeps a file from being written.
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
