//! Three sites of shops that share one limit, and what a crowd sees of them while faults are
//! injected.
//!
//! ```text
//! cargo run --release -p sites                                   without a fault, at two loads
//! cargo run --release -p sites -- --fault ledger                 with one fault
//! cargo run --release -p sites -- --engine valkey faults         with each fault in turn
//! ```
//!
//! [`world`] starts everything, each [`node`] and each [`ledger`] in a process of its own. The crowd
//! and its oracle are those of the `shop` example: the oracle has the cookies of all visitors of all
//! sites. A [`fault`] is injected by the [`nemesis`], and one run is a [`trial`].

mod cli;
mod fault;
mod ledger;
mod nemesis;
mod node;
mod site;
mod table;
mod trial;
mod world;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{Cli, Command, Load, Plan},
    fault::Fault,
    trial::Trial,
};

/// Exits with 0 if every promise was kept, with 1 if not, and with 2 if the run could not start.
#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("sites: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode> {
    // Outages are expected here, so only errors are logged by default.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runs: Vec<_> = match cli.command {
        Some(Command::Node(node)) => return node::serve(node).await.map(|()| ExitCode::SUCCESS),
        Some(Command::Ledger(ledger)) => {
            return ledger::serve(ledger).await.map(|()| ExitCode::SUCCESS);
        }
        Some(Command::Faults { faults }) => {
            let all = Fault::value_variants().iter().skip(1).copied();
            let faults = if faults.is_empty() { all.collect() } else { faults };
            faults.into_iter().map(|fault| (fault, Load::Full)).collect()
        }
        None if cli.fault == Fault::None => {
            Load::value_variants().iter().map(|load| (Fault::None, *load)).collect()
        }
        None => vec![(cli.fault, Load::Full)],
    };
    // Every visitor has a connection to the balancers, which inherit the limit.
    rlimit::increase_nofile_limit(FILES)?;
    let trials = try_all(&runs, &cli.plan).await?;
    println!("{}", table::table(&trials));
    let is_kept = trials.iter().all(|trial| trial.violations().is_empty());
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn try_all(runs: &[(Fault, Load)], plan: &Plan) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for &(fault, load) in runs {
        let trial = Trial::run(fault, load, plan).await?;
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
