//! The figures as tables, as files, and as pictures.

use std::{error::Error, fs, path::Path};

use comfy_table::{CellAlignment, Table, presets};

use super::{plot::pictures, sheet::Sheet, study::Study};

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
        fs::write(file, csv(sheet, &study.seeds)?)?;
    }
    for (name, picture) in pictures(study) {
        svg::save(directory.join(format!("gate-{name}.svg")), &picture)?;
    }
    Ok(())
}

fn table(sheet: &Sheet) -> Table {
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

/// A line for each policy and seed, with all decimals.
pub(super) fn csv(sheet: &Sheet, seeds: &[u64]) -> Result<String, Box<dyn Error>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(
        ["policy", "seed"].into_iter().chain(sheet.columns.iter().map(|column| column.name)),
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
