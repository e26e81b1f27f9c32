//! The study in short, with fresh seeds, and the tables of the guide.

use std::{fmt::Write, path::Path};

use waiting_room_doubles::assert_documented;
use waiting_room_sim::seeds;

use super::run;
use crate::{bar::Bar, figures::Size};

#[test]
fn honest_crowds_wait_no_longer_than_without_shares_and_people_come_through_an_attack() {
    let study = run(&seeds(3), Size::Quick);
    study.bars.iter().for_each(|bar| eprintln!("{bar}"));
    assert_eq!(study.bars.len(), 10);
    assert!(study.bars.iter().all(Bar::is_met), "{:#?}", study.bars);
}

/// The mean of each figure in a file of the study, by scenario.
fn means(file: &str) -> Vec<(String, Vec<f64>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures").join(file);
    let rows = csv::Reader::from_path(path).unwrap().into_records().map(Result::unwrap);
    let rows: Vec<_> = rows.collect();
    let of_one = rows.chunk_by(|row, next| row[0] == next[0]);
    let mean = |rows: &[csv::StringRecord], column: usize| {
        let figures = rows.iter().map(|row| row[column].parse().unwrap_or(f64::NAN));
        figures.sum::<f64>() / rows.len() as f64
    };
    let columns =
        |rows: &[csv::StringRecord]| (2..rows[0].len()).map(|at| mean(rows, at)).collect();
    of_one.map(|rows| (rows[0][0].to_owned(), columns(rows))).collect()
}

#[test]
fn the_guide_has_the_figures_of_the_study() {
    let mut page = "| | everyone | the network |\n|---|---|---|\n".to_owned();
    for (name, figures) in means("shares-crowds.csv") {
        let [all, network] =
            [1, 3].map(|at: usize| ((figures[at] - 100.0) * 10.0).round() / 10.0 + 0.0);
        writeln!(page, "| {name} | {all:+.1} % | {network:+.1} % |").unwrap();
    }
    assert_documented("guide/security.md", "crowds", &page);
    let mut page =
        "| the attacker has | both | only shares | neither |\n|---|---|---|---|\n".to_owned();
    for (name, figures) in means("shares-attacks.csv") {
        let cells = [0, 2, 6].map(|column: usize| match figures[column] {
            minutes if minutes.is_nan() => "–".to_owned(),
            minutes if minutes < 120.0 => format!("{minutes:.0} min"),
            minutes => format!("{:.0} h", minutes / 60.0),
        });
        writeln!(page, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    assert_documented("guide/security.md", "attacks", &page);
}
