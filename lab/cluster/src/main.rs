//! Four shops behind one balancer and one Redis or Valkey, and what a crowd sees of them while
//! faults are injected.
//!
//! ```text
//! cargo lab cluster                                 without a fault
//! cargo lab cluster -- --fault half-open            with one fault
//! cargo lab cluster -- --engine valkey faults       with each fault in turn
//! ```
//!
//! [`cluster`] starts everything, each [`node`] in a process of its own. The crowd and its
//! witness are those of `waiting-room-crowd`. A [`fault`] is injected by the [`nemesis`], and one run
//! is a [`trial`].

mod cli;
mod cluster;
mod fault;
mod nemesis;
mod node;
mod table;
mod trial;

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{Cli, Command, Plan},
    fault::Fault,
    trial::Trial,
};

/// Exits with 0 if every promise was kept, with 1 if not, and with 2 if the run could not start.
#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::from_process()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cluster: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode> {
    // Outages of the store are expected here, so only errors are logged by default.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    if let Some(Command::Node(node)) = cli.command {
        node::serve(node).await?;
        return Ok(ExitCode::SUCCESS);
    }
    // Every visitor has a connection to the balancer, which inherits the limit.
    rlimit::increase_nofile_limit(FILES)?;
    let trials = match cli.command {
        Some(Command::Faults { faults }) if !faults.is_empty() => {
            try_all(&faults, &cli.plan).await?
        }
        Some(_) => try_all(Fault::value_variants(), &cli.plan).await?,
        None => {
            let trial = Trial::run(cli.fault, &cli.plan).await?;
            println!("{}", trial.outcome);
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

/// Two open files for each visitor of the largest crowd, and some spare ones.
const FILES: u64 = 16_384;
