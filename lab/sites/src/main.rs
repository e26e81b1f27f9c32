//! Three sites of shops that share one limit, and what a crowd sees of them while faults are
//! injected.
//!
//! ```text
//! cargo lab sites                                   without a fault: each policy at three loads
//! cargo lab sites -- --fault ledger                 with one fault
//! cargo lab sites -- --engine valkey faults         with each fault in turn
//! cargo lab sites -- summary runs.jsonl             the worst of what --record has kept
//! ```
//!
//! [`world`] starts everything, each [`node`] and each [`ledger`] in a process of its own. The crowd
//! and its witness are those of `waiting-room-crowd`: the witness knows the visitors of all sites. A [`fault`] is injected by the [`nemesis`], one run is a [`trial`], and a [`verdict`] says
//! which promises it has broken.

mod calls;
mod cli;
mod fault;
mod ledger;
mod nemesis;
mod node;
mod record;
mod site;
mod table;
mod trial;
mod verdict;
mod wire;
mod world;

use std::{path::Path, process::ExitCode};

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{Cli, Command, Load, Plan},
    fault::Fault,
    node::PolicyName,
    record::Record,
    table::tables,
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
        Some(Command::Summary { files }) => {
            let records = files.iter().map(|file| Record::read(file));
            let records = records.collect::<Result<Vec<_>>>()?.concat();
            ensure!(!records.is_empty(), "no run was recorded");
            return Ok(conclude(&records));
        }
        Some(Command::Faults { faults }) => {
            ensure!(
                cli.policy.is_none(),
                "policy is given, expected none, because the sites of runs with faults hold slots"
            );
            let all = Fault::value_variants().iter().skip(1).copied();
            let faults = if faults.is_empty() { all.collect() } else { faults };
            faults.into_iter().map(with_fault).collect()
        }
        None if cli.fault == Fault::None => without_fault(cli.policy),
        None => vec![with_fault(cli.fault)],
    };
    // Every visitor has a connection to the balancers, which inherit the limit.
    rlimit::increase_nofile_limit(FILES)?;
    Ok(conclude(&try_all(&runs, &cli.plan, cli.record.as_deref()).await?))
}

/// Prints the tables of runs.
fn conclude(records: &[Record]) -> ExitCode {
    println!("{}", tables(records));
    let is_kept = records.iter().all(|record| record.broken.is_empty());
    if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const fn with_fault(fault: Fault) -> Run {
    Run { fault, load: Load::Full, policy: PolicyName::Escrow }
}

/// Each policy, or the given one, at each load.
fn without_fault(policy: Option<PolicyName>) -> Vec<Run> {
    let loads = Load::value_variants().iter();
    let runs = loads.flat_map(|load| {
        let policies = PolicyName::value_variants().iter();
        policies.map(|policy| Run { fault: Fault::None, load: *load, policy: *policy })
    });
    runs.filter(|run| policy.is_none_or(|policy| run.policy == policy)).collect()
}

async fn try_all(runs: &[Run], plan: &Plan, file: Option<&Path>) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for &run in runs {
        let trial = Trial::run(run, plan).await?;
        let record = Record::new(&trial);
        if !record.broken.is_empty() {
            trial.outcome.report().alarms.iter().for_each(|alarm| eprintln!("{alarm:?}"));
        }
        eprintln!("{}", tables(std::slice::from_ref(&record)));
        if let Some(file) = file {
            record.append(file)?;
        }
        records.push(record);
    }
    Ok(records)
}

/// Two open files for each visitor of the largest crowd, and some spare ones.
const FILES: u64 = 16_384;
