//! Three sites of shops that share one limit, and what a crowd sees of them while faults are
//! injected.
//!
//! ```text
//! cargo run --release -p sites                                   without a fault: each policy at two loads
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
    node::PolicyName,
    trial::{Run, Trial},
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
            faults.into_iter().map(with_fault).collect()
        }
        None if cli.fault == Fault::None => without_fault(),
        None => vec![with_fault(cli.fault)],
    };
    // Every visitor has a connection to the balancers, which inherit the limit.
    rlimit::increase_nofile_limit(FILES)?;
    let trials = try_all(&runs, &cli.plan).await?;
    println!("{}", table::table(&trials));
    let is_kept = trials.iter().all(|trial| trial.violations().is_empty());
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const fn with_fault(fault: Fault) -> Run {
    Run { fault, load: Load::Full, policy: PolicyName::Escrow }
}

/// Each policy at each load.
fn without_fault() -> Vec<Run> {
    let loads = Load::value_variants().iter();
    let runs = loads.flat_map(|load| {
        let policies = PolicyName::value_variants().iter();
        policies.map(|policy| Run { fault: Fault::None, load: *load, policy: *policy })
    });
    runs.collect()
}

async fn try_all(runs: &[Run], plan: &Plan) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for &run in runs {
        let trial = Trial::run(run, plan).await?;
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
