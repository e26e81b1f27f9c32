//! What a study hands over: its tables, the bars that they have to meet, and its charts.

use std::{error::Error, fs, path::Path};

use svg::Document;

use crate::{
    bar::Bar,
    report::say,
    sheet::{Sheet, csv, table},
};

/// How much a study measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// As in the documentation.
    Full,
    /// Just enough to detect a missed bar.
    Quick,
}

/// The figures of a study.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// The beginning of the names of its files.
    pub(crate) name: &'static str,
    pub(crate) seeds: Vec<u64>,
    pub(crate) sheets: Vec<Sheet>,
    pub(crate) bars: Vec<Bar>,
    pub(crate) pictures: Vec<(&'static str, Document)>,
}

impl Figures {
    /// Prints the tables with their titles, and the bars. Returns whether every bar was met.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written to.
    pub(crate) fn print(&self) -> Result<bool, Box<dyn Error>> {
        for sheet in self.sheets.iter().filter(|sheet| !sheet.is_course()) {
            say(format_args!("{}\n\n{}\n", sheet.title, table(sheet)))?;
        }
        self.bars.iter().try_for_each(say)?;
        Ok(self.bars.iter().all(Bar::is_met))
    }

    /// Writes a CSV file for each table, and an SVG file for each chart. Creates the directory if it
    /// does not exist.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Box<dyn Error>> {
        fs::create_dir_all(directory)?;
        let file = |name, kind| directory.join(format!("{}-{name}.{kind}", self.name));
        for sheet in &self.sheets {
            fs::write(file(sheet.name, "csv"), csv(sheet, &self.seeds)?)?;
        }
        for (name, picture) in &self.pictures {
            svg::save(file(name, "svg"), picture)?;
        }
        Ok(())
    }
}
