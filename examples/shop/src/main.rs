//! A small shop behind a waiting room, and a crowd to try it with.
//!
//! ```text
//! cargo run -p shop                                     serves on http://127.0.0.1:3000
//! cargo run -p shop -- --crowd 500 --duration 60        adds 500 real HTTP visitors
//! cargo run -p shop -- --replay day.csv                 adds the steepest hour of a real day
//! ```
//!
//! [`shop`] is the application, [`room`] the waiting room in front of it. [`crowd`] is who comes,
//! [`replay`] when they come. What the crowd saw is judged by the oracle of `waiting-room-sim`,
//! which knows nothing of the room inside.

mod cli;
mod crowd;
mod log;
mod replay;
mod room;
mod serve;
mod server;
mod shop;

use std::{error::Error, process::ExitCode};

use clap::Parser;

use crate::cli::{Cli, Mode};

/// Serves, or runs a crowd and judges what it saw.
///
/// Ends with 0 if all went well, with 1 if the room broke a promise, and with 2 if it could not
/// be tried.
#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("shop: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Box<dyn Error>> {
    log::start(&cli.mode());
    match cli.mode() {
        Mode::Serve => {
            serve::serve(cli.room.config(cli.room.own_keys()?)?, cli.listen).await?;
            Ok(ExitCode::SUCCESS)
        }
        Mode::Crowd(order) => {
            let outcome = crowd::run(&cli.room, order).await?;
            outcome.print()?;
            Ok(if outcome.is_kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}
