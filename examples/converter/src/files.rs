//! Writes the runs to files.

use std::{error::Error, fs, path::Path, time::Duration};

use serde::Serialize;

use crate::{plot::plot, report::Report, run::Run};

/// A line of `converter.csv`.
#[derive(Serialize)]
struct Line {
    run: &'static str,
    server_percent: f64,
    others_percent: Option<f64>,
    pictures: usize,
    fewest_for_a_client: usize,
    most_for_a_client: usize,
    wait_p50_ms: f64,
    wait_p99_ms: f64,
    let_in_out_of_order: usize,
    finished_behind_later_ones: usize,
    refused: u64,
    timed_out: u64,
    never_served: u64,
    healthz_p50_ms: f64,
    healthz_p99_ms: f64,
}

/// A line of `converter-cpu.csv`.
#[derive(Serialize)]
struct Point {
    run: &'static str,
    until_s: f64,
    server_percent: f64,
    others_percent: Option<f64>,
}

/// Writes the runs, their curves and a chart into `converter.csv`, `converter-cpu.csv` and
/// `converter.svg`. Creates the directory if it does not exist.
///
/// # Errors
///
/// A file cannot be written.
pub(crate) fn write(report: &Report, directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("converter.csv"), csv(report.runs.iter().map(line))?)?;
    fs::write(directory.join("converter-cpu.csv"), csv(report.runs.iter().flat_map(points))?)?;
    svg::save(directory.join("converter.svg"), &plot(report))?;
    Ok(())
}

fn csv(lines: impl Iterator<Item = impl Serialize>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut file = csv::Writer::from_writer(Vec::new());
    lines.into_iter().try_for_each(|line| file.serialize(line))?;
    Ok(file.into_inner()?)
}

fn line(run: &Run) -> Line {
    let (fewest_for_a_client, most_for_a_client) = run.seen.fewest_and_most();
    let waits = run.seen.waits();
    let health = run.seen.health();
    Line {
        run: run.way.name(),
        server_percent: round(run.curve.server()),
        others_percent: run.curve.others().map(round),
        pictures: run.seen.served(),
        fewest_for_a_client,
        most_for_a_client,
        wait_p50_ms: round(waits.p50_ms),
        wait_p99_ms: round(waits.p99_ms),
        let_in_out_of_order: run.let_in.overtaken,
        finished_behind_later_ones: run.finished.by_at_most,
        refused: run.seen.refused,
        timed_out: run.seen.timed_out,
        never_served: run.seen.unserved,
        healthz_p50_ms: round(health.p50_ms),
        healthz_p99_ms: round(health.p99_ms),
    }
}

fn points(run: &Run) -> impl Iterator<Item = Point> {
    let mut until = Duration::ZERO;
    run.curve.0.iter().map(move |used| {
        until += used.over;
        Point {
            run: run.way.name(),
            until_s: round(until.as_secs_f64()),
            server_percent: round(used.server),
            others_percent: used.others.map(round),
        }
    })
}

/// Rounds to a tenth.
fn round(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}
