//! `shop`: see the library of the same name.

use std::process::ExitCode;

use clap::Parser;
use shop::Cli;

/// Serves, or runs a crowd and judges what it saw.
///
/// Ends with 0 if all went well, with 1 if the room broke a promise, and with 2 if it could not
/// be tried.
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
