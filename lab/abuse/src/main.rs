//! Attacks a service over real sockets, and reports what the attacker gets, and what other clients
//! get meanwhile. The service is built from a configuration file.
//!
//! ```text
//! cargo lab abuse                                  all attacks, in full
//! cargo lab abuse -- --short                                 all attacks, in less than a minute
//! cargo lab abuse -- --attack ticket-hoard --seed 7          one of them, again
//! ```
//!
//! The service is [`serve`]. It runs in a [`process`] of its own, which is started anew for each
//! attack. Meanwhile [`people`] send requests, each from an address of its own. Each attack is a
//! file in [`attacks`], and one run of it is a [`trial`]. Attackers connect from `127.0.2.0/24`,
//! people from `127.0.1.0/24`.

mod attacks;
mod cli;
mod client;
mod hammer;
mod ledger;
mod people;
mod process;
mod serve;
mod settings;
mod site;
mod strike;
mod table;
mod trial;
mod visitor;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{Cli, Command},
    trial::Trial,
};

/// Exits with 0 if every bound was kept, with 1 if one was broken or a run was void, and with 2 if
/// an attack could not be run.
#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("abuse: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode> {
    // Refusals are expected here, so only errors are logged by default.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    if let Some(Command::Serve(order)) = cli.command {
        serve::serve(order).await?;
        return Ok(ExitCode::SUCCESS);
    }
    // The service inherits the limit, and has the same number of connections.
    let scale = cli.plan.scale();
    let files = u64::from(scale.slow_readers()) + SPARE_FILES;
    let allowed = rlimit::increase_nofile_limit(files)?;
    ensure!(allowed >= files, "{files} open files are needed, and {allowed} are allowed");
    let seed = cli.plan.seed();
    println!("seed {seed}");
    let mut trials = Vec::new();
    for attack in cli.plan.attacks() {
        let trial = Trial::run(attack, &cli.plan.config, scale, seed).await?;
        eprintln!("{}", trial.story());
        trials.push(trial);
    }
    println!("{}", table::table(&trials));
    let is_kept = trials.iter().all(|trial| trial.broken().is_empty());
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The number of open files for everything except the slow readers. Both ends of the connections to a
/// ledger are open in this process.
const SPARE_FILES: u64 = 4_096;
