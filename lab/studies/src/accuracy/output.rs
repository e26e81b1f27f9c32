//! The figures as a table and as a file.

use std::{error::Error, fs, path::Path};

use comfy_table::Table;

use super::{row::Row, study::Study};
use crate::report::markdown;

/// A table with one row for each kind of traffic and each algorithm.
pub(crate) fn table(study: &Study) -> Table {
    let head = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let rows = study.rows().iter();
    let rows = rows.map(|row| COLUMNS.iter().map(|(_, column)| column(row)).collect());
    markdown(head, rows, 2)
}

/// Writes `accuracy.csv`. Creates the directory if it does not exist.
///
/// # Errors
///
/// A file cannot be written.
pub(crate) fn write(study: &Study, directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("accuracy.csv"), csv(study)?)?;
    Ok(())
}

/// The rows of the table as CSV.
pub(super) fn csv(study: &Study) -> Result<String, Box<dyn Error>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    study.rows().iter().try_for_each(|row| file.serialize(row))?;
    Ok(String::from_utf8(file.into_inner()?)?)
}

fn percent(share: f64) -> String {
    format!("{:.3} %", 100.0 * share)
}

fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

type Column = fn(&Row) -> String;

const COLUMNS: &[(&str, Column)] = &[
    ("traffic", Row::title),
    ("algorithm", |row| row.algorithm.to_owned()),
    ("requests", |row| row.requests.to_string()),
    ("open: refused", |row| or_dash(row.open_wrongly_refused, |count| count.to_string())),
    ("allowed", |row| or_dash(row.open_wrongly_allowed, |count| count.to_string())),
    ("wrong", |row| or_dash(row.open_wrong_share, percent)),
    ("rate error", |row| or_dash(row.mean_rate_error, percent)),
    ("closed: refused", |row| row.closed_wrongly_refused.to_string()),
    ("allowed", |row| row.closed_wrongly_allowed.to_string()),
    ("wrong", |row| percent(row.closed_wrong_share)),
    ("above exact", |row| or_dash(row.admitted_above_exact, |s| format!("{:+.3} %", 100.0 * s))),
    ("in any window", |row| row.most_in_any_window.to_string()),
];
