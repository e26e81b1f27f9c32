//! What the command line asks for, done.

use std::{error::Error, process::ExitCode};

use crate::{
    cli::{Cli, Mode},
    crowd, log, serve,
};

/// Serves, or runs a crowd and judges what it saw: then the code says whether every promise was
/// kept.
///
/// # Errors
///
/// It could not be tried.
pub async fn run(cli: Cli) -> Result<ExitCode, Box<dyn Error>> {
    log::start(&cli.mode());
    match cli.mode() {
        Mode::Serve => {
            serve::serve(cli.config()?, cli.listen).await?;
            Ok(ExitCode::SUCCESS)
        }
        Mode::Crowd(order) => {
            let outcome = crowd::run(&cli.room, order).await?;
            outcome.print()?;
            Ok(if outcome.is_kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}
