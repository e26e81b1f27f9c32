//! Studies on the simulator: whole days in front of a waiting room, and what the visitors saw; the
//! accuracy of rate limits; a gate under overload; the shares of networks; and many sites that share
//! one limit.
//!
//! Exits with 1 if a promise was broken, and with 2 if a study could not be run.

mod accuracy;
mod bar;
mod chart;
mod cli;
mod crowding;
mod figures;
mod gate;
mod report;
mod shares;
mod sheet;
mod simulation;
mod sites;

use std::process::ExitCode;

use clap::Parser;
use rayon::prelude::*;
use waiting_room_sim::fresh_seeds;

use crate::{
    cli::{Cli, Task},
    figures::{Figures, Size},
    report::say,
    simulation::World,
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let kept = match &cli.task {
        Some(Task::Accuracy(args)) => accuracy(args),
        Some(Task::Crowding) => say(crowding::table()).map(|()| true).map_err(Into::into),
        Some(Task::Figures(args)) => study(args, [1..=10, 1..=3].map(Vec::from_iter), sites::run),
        Some(Task::Gate(args)) => study(args, [5, 1].map(fresh_seeds), gate::run),
        Some(Task::Shares(args)) => study(args, [(1..=10).collect(), fresh_seeds(1)], shares::run),
        None => simulate(&cli.simulate),
    };
    match kept {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("waiting-room-studies: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the day once for each seed. Returns whether every promise was kept.
fn simulate(args: &cli::Simulate) -> Result<bool, Box<dyn std::error::Error>> {
    let trace = args.trace()?;
    let seeds = args.chance.seeds();
    eprintln!("seeds: {seeds:?}");
    let runs = seeds
        .par_iter()
        .map(|&seed| World::new(&args.scenario(seed, &trace), &trace).map(World::run));
    let reports = runs.collect::<Result<Vec<_>, _>>()?;
    if args.json {
        say(serde_json::to_string_pretty(&reports)?)?;
    } else {
        say(report::table(&reports))?;
    }
    for report in &reports {
        report::print_violations(report);
    }
    Ok(reports.iter().all(|report| report.violations().is_empty()))
}

/// Compares rate-limit algorithms with an exact log. Returns whether the sliding log agreed with
/// it.
fn accuracy(args: &cli::Accuracy) -> Result<bool, Box<dyn std::error::Error>> {
    let traffic = args.traffic()?;
    let seed = args.seed();
    eprintln!("seed: {seed}");
    let study = accuracy::Study::run(seed, &traffic);
    if args.json {
        say(serde_json::to_string_pretty(study.rows())?)?;
    } else {
        say(accuracy::table(&study))?;
    }
    if let Some(directory) = &args.out {
        accuracy::write(&study, directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    if !study.log_is_exact() {
        eprintln!("seed {seed}: the sliding log was wrong");
    }
    Ok(study.log_is_exact())
}

/// Runs a study with its usual seeds, of the whole study and of a quick one, unless others are given.
/// Returns whether every bar was met.
fn study(
    args: &cli::Study,
    usual: [Vec<u64>; 2],
    run: fn(&[u64], Size) -> Figures,
) -> Result<bool, Box<dyn std::error::Error>> {
    let seeds = args.seeds(usual);
    eprintln!("seeds: {seeds:?}");
    let figures = run(&seeds, args.size());
    if let Some(directory) = &args.out {
        figures.write(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    figures.print()
}
