//! Four shops behind one balancer and one Redis or Valkey: what a crowd sees of them, whatever goes
//! wrong meanwhile.
//!
//! ```text
//! cargo run --release -p cluster                                 nothing goes wrong
//! cargo run --release -p cluster -- --fault half-open            something does
//! cargo run --release -p cluster -- --engine valkey faults       everything does, one by one
//! ```
//!
//! [`cluster`] is what is started, each [`node`] in a [`process`] of its own; the crowd and what it
//! is judged by are those of the `shop` example. [`fault`] is what may go wrong, and [`nemesis`] who
//! sees to it; one run is a [`trial`].

mod balancer;
mod cli;
mod cluster;
mod fault;
mod link;
mod nemesis;
mod node;
mod process;
mod table;
mod trial;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{Cli, Command, Plan},
    fault::Fault,
    trial::Trial,
};

/// Ends with 0 if every promise was kept, with 1 if not, and with 2 if it could not be tried.
#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cluster: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode> {
    // That a store is away is what is tried here, and so no news.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    if let Some(Command::Node(node)) = cli.command {
        node::serve(node).await?;
        return Ok(ExitCode::SUCCESS);
    }
    // Every visitor has a connection to the balancer, and the balancer inherits the limit.
    rlimit::increase_nofile_limit(FILES)?;
    let trials = match cli.command {
        Some(Command::Faults { faults }) if !faults.is_empty() => {
            try_all(&faults, &cli.plan).await?
        }
        Some(_) => try_all(Fault::value_variants(), &cli.plan).await?,
        None => {
            let trial = Trial::run(cli.fault, &cli.plan).await?;
            trial.outcome.print()?;
            vec![trial]
        }
    };
    println!("{}", table::table(&trials));
    let is_kept = trials.iter().all(|trial| trial.violations().is_empty());
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn try_all(faults: &[Fault], plan: &Plan) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for &fault in faults {
        let trial = Trial::run(fault, plan).await?;
        for alarm in &trial.outcome.report().alarms {
            eprintln!("{alarm:?}");
        }
        eprintln!("{}", table::table(std::slice::from_ref(&trial)));
        trials.push(trial);
    }
    Ok(trials)
}

/// Two for each of the largest crowd, and some.
const FILES: u64 = 16_384;
