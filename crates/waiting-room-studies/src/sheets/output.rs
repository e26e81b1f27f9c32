//! A sheet as a table, and as a file.

use std::error::Error;

use comfy_table::{CellAlignment, Table, presets};

use super::sheet::Sheet;

/// A line for each line of the sheet, with the mean of each figure.
pub(crate) fn table(sheet: &Sheet) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([""].into_iter().chain(sheet.columns.iter().map(|column| column.name)));
    for line in &sheet.lines {
        let figures = line.figures.iter().zip(sheet.columns);
        let figures = figures.map(|(figure, column)| figure.text(column.decimals));
        table.add_row([line.name.clone()].into_iter().chain(figures));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A line for each line of the sheet and seed, with all decimals. `what` the lines are is the name
/// of the first column.
///
/// # Errors
///
/// Whatever keeps the file from being made.
pub(crate) fn csv(sheet: &Sheet, what: &str, seeds: &[u64]) -> Result<String, Box<dyn Error>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(
        [what, "seed"].into_iter().chain(sheet.columns.iter().map(|column| column.name)),
    )?;
    for line in &sheet.lines {
        for (index, seed) in seeds.iter().enumerate() {
            let figures = line.figures.iter().map(|figure| number(figure.0[index]));
            file.write_record([line.name.clone(), seed.to_string()].into_iter().chain(figures))?;
        }
    }
    Ok(String::from_utf8(file.into_inner()?)?)
}

/// To a thousandth; nothing where there is none.
fn number(figure: f64) -> String {
    if figure.is_nan() { String::new() } else { format!("{}", (1e3 * figure).round() / 1e3) }
}
