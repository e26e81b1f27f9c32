//! A conversion of pictures that uses all available CPU, and a gate that leaves some of it to
//! others.
//!
//! ```text
//! cargo run --release -p converter                      without a gate, and with one
//! cargo run --release -p converter -- --adaptive        and with a limit that adapts
//! ```
//!
//! ```text
//!  this process                                            another process
//!  ┌──────────────────────────────────────────────────┐    ┌─────────────────┐
//!  │ arrived ─► gate ─► let in ─► convert ─► finished │◄═══╡ 32 clients, and │
//!  │    └───── order ──────┴──────────────────┘       │    │ a health check  │
//!  │ meter: the CPU time of this process              │    └─────────────────┘
//!  └──────────────────────────────────────────────────┘
//! ```
//!
//! [`app`] is the application. [`pace`] turns 70 % of two cores into a limit, and measures the CPU
//! time of each conversion; [`controller`] finds such a limit. [`clients`] are the crowd,
//! [`mod@run`] is one run with it, and [`report`] judges the runs.

mod app;
mod cli;
mod client;
mod clients;
mod controller;
mod cpu;
mod files;
mod order;
mod pace;
mod picture;
mod plot;
mod report;
mod run;
mod seen;

use std::{error::Error, process::ExitCode};

use clap::Parser;

use crate::{
    cli::{Cli, Role},
    report::Report,
};

/// Exits with 0 if the CPU usage was as intended and all clients were served in order, with 1 if
/// not, and with 2 if a run could not start.
///
/// The runtime has one thread, because only conversions need CPU time, and they have threads of
/// their own. So requests reach the gate one after the other, in the order in which they are
/// numbered.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("converter: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Box<dyn Error>> {
    if let Some(Role::Clients(order)) = cli.role {
        clients::live(&order).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut runs = Vec::new();
    for way in cli.plan.ways() {
        eprintln!("{}: {}", way.name(), humantime::format_duration(cli.plan.length));
        runs.push(run::run(way, &cli.plan).await?);
    }
    let report = Report::new(&cli.plan, runs);
    println!("{}", report.table());
    eprintln!("{}", report.verdict());
    if let Some(directory) = &cli.plan.out {
        files::write(&report, directory)?;
    }
    Ok(if report.is_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
