//! A small JSON API with rate limits.
//!
//! ```text
//! cargo run -p api                                      serves on http://127.0.0.1:3001
//! cargo run -p api -- --limits my.toml --headers book   by other rules, told by other headers
//! ```
//!
//! [`app`] is the router and the layers in front of it, [`limits`] what is limited by code; the
//! rest is in `limits.yaml`. [`keys`] knows who has which plan. [`quotes`], [`essays`] and
//! [`login`] are what it is all for.

mod app;
mod cli;
mod essays;
mod keys;
mod limits;
mod login;
mod quotes;
mod serve;

use std::{
    error::Error,
    io::{self, IsTerminal},
    process::ExitCode,
};

use clap::Parser;
use tower_waiting_room::WaitingRoomLayer;
use tracing_subscriber::EnvFilter;

use crate::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    log.with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).init();
    match run(&Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("api: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: &Cli) -> Result<(), Box<dyn Error>> {
    let limits = WaitingRoomLayer::new(cli.config()?);
    serve::serve(app::app(limits), cli.port).await?;
    Ok(())
}
