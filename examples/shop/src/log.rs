//! Where the log goes: to standard error, so that standard output has the report alone.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::cli::Mode;

/// Starts the log. `RUST_LOG` decides what is in it; otherwise a server tells every request, and
/// a crowd only what is wrong.
pub(crate) fn start(mode: &Mode) {
    let default = match mode {
        Mode::Crowd(_) => "warn",
        Mode::Serve => "info",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}
