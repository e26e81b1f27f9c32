//! The program `waiting-room-ledger`: a global ledger or its standby, and the commands of its operator.

mod arguments;
mod commands;

use std::process::ExitCode;

use clap::Parser as _;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(commands::run(arguments)),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("waiting-room-ledger: {error}");
            ExitCode::FAILURE
        }
    }
}
