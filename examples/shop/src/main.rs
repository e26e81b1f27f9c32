//! The program `shop`. See the library of the same name.

use std::process::ExitCode;

use clap::Parser;
use shop::Cli;

/// Serves the shop, or runs a crowd and judges what it saw.
///
/// Exits with 0 on success, with 1 if the room broke a promise, and with 2 if the run could not
/// start.
#[tokio::main]
async fn main() -> ExitCode {
    match shop::run(Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("shop: {error}");
            ExitCode::from(2)
        }
    }
}
