//! Studies on the simulator: whole days in front of a waiting room, and what the visitors saw; the
//! accuracy of rate limits; a gate under overload; and many sites that share one limit.
//!
//! Exits with 1 if a promise was broken, and with 2 if a study could not be run.

mod accuracy;
mod bar;
mod chart;
mod cli;
mod crowding;
mod gate;
mod report;
mod sheet;
mod simulation;
mod sites;

use std::process::ExitCode;

use clap::Parser;
use rayon::prelude::*;

use crate::{
    bar::Bar,
    cli::{Cli, Task},
    report::say,
    simulation::World,
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let kept = match &cli.task {
        Some(Task::Accuracy(args)) => accuracy(args),
        Some(Task::Crowding) => say(crowding::table()).map(|()| true).map_err(Into::into),
        Some(Task::Gate(args)) => gate(args),
        Some(Task::Figures(args)) => figures(args),
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

/// Measures the known properties of the policies for many sites. Returns whether every bar was met.
fn figures(args: &cli::Figures) -> Result<bool, Box<dyn std::error::Error>> {
    let seeds = args.seeds();
    eprintln!("seeds: {seeds:?}");
    let study = sites::figures::Study::run(&seeds, args.size());
    sites::figures::print(&study);
    if let Some(directory) = &args.out {
        sites::figures::write(&study, directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(study.bars().iter().all(Bar::is_met))
}

/// Measures how a concurrency gate copes with overload. Returns whether every bar was met.
fn gate(args: &cli::Gate) -> Result<bool, Box<dyn std::error::Error>> {
    let seeds = args.seeds();
    eprintln!("seeds: {seeds:?}");
    let study = gate::Study::run(&seeds, args.size());
    gate::print(&study);
    if let Some(directory) = &args.out {
        gate::write(&study, directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(study.bars().iter().all(Bar::is_met))
}
