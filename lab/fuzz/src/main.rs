//! Mutated input for each parser of the product. No input may cause a panic, or cost out of
//! proportion to its length.
//!
//! ```text
//! cargo lab waiting-room-fuzz -- --parser cookies --minutes 20      again: it continues
//! ```
//!
//! The program keeps what it has found in a folder: the inputs that it mutates, the number of
//! executions, the dearest input, and each input that caused a panic. The compiler does not report
//! which code an input reaches, so an input is new if its outcome is: the status and the headers of
//! the response, or the text of the error. `corpus` has a few inputs of each parser, which
//! a test replays.
//!
//! The cost of an input is its CPU time, divided by that of an ordinary input of the same length.

mod campaign;
mod documents;
mod mutation;
mod parsers;
mod requests;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser as _;

use crate::{campaign::Campaign, parsers::PARSERS};

/// Searches for input that causes a panic, or that costs too much. The exit status is 1 if there is any.
#[derive(Debug, clap::Parser)]
#[command(version)]
struct Args {
    /// The parser: accept, cloudflare, cookies, forwarded, ledger, links, rules, templates or tickets.
    #[arg(long)]
    parser: String,
    /// How long to search.
    #[arg(long, default_value_t = 1)]
    minutes: u32,
    /// The seed of the mutations; without one, a new one, which is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// The folder in which the state of each parser is kept.
    #[arg(long, default_value = "target/fuzz")]
    folder: PathBuf,
}

fn main() -> Result<ExitCode> {
    let Args { parser, minutes, seed, folder } = Args::parse();
    let known = PARSERS.iter().find(|known| known.name == parser);
    let parser = known.with_context(|| format!("there is no parser {parser:?}"))?;
    let seed = seed.unwrap_or_else(campaign::fresh_seed);
    println!("{}: seed {seed}", parser.name);
    let mut campaign = Campaign::open(parser, &folder.join(parser.name))?;
    campaign.run(minutes, seed)?;
    print!("{}", campaign.report());
    Ok(if campaign.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
