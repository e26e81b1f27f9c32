//! Runs the command line: serves the shop, or sends a crowd and judges what it saw.

use std::{error::Error, io, net::SocketAddr, process::ExitCode};

use tokio::{net::TcpListener, signal};
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};
use tracing_subscriber::EnvFilter;

use crate::{
    app::app,
    cli::{Cli, Mode},
    crowd, metrics,
};

/// Serves the shop, or runs a crowd. After a crowd, the exit code is a success if every promise was
/// kept.
///
/// # Errors
///
/// The server or the crowd cannot be started.
pub async fn run(cli: Cli) -> Result<ExitCode, Box<dyn Error>> {
    start_log(&cli.mode());
    match cli.mode() {
        Mode::Serve => {
            serve(cli.config()?, cli.listen).await?;
            Ok(ExitCode::SUCCESS)
        }
        Mode::Crowd(order) => {
            let outcome = crowd::run(&cli.room, order).await?;
            outcome.print()?;
            Ok(if outcome.is_kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Serves on this address until ctrl-c, then completes the running requests.
async fn serve(config: WaitingRoomConfig, listen: SocketAddr) -> Result<(), Box<dyn Error>> {
    let prometheus = metrics::install()?;
    let room = WaitingRoomLayer::new(config);
    let metrics = metrics::route(prometheus, room.handle());
    let listener = TcpListener::bind(listen).await?;
    eprintln!("the shop is open on http://{}; ctrl-c closes it", listener.local_addr()?);
    let app = app(room).merge(metrics);
    Ok(axum::serve(listener, app).with_graceful_shutdown(stop()).await?)
}

/// Waits for ctrl-c, or for SIGTERM, which `docker stop` and systemd send.
async fn stop() {
    #[cfg(unix)]
    if let Ok(mut terminate) = signal::unix::signal(signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    // If the signal handler cannot be installed, the server runs until it is killed.
    if signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Starts the log. `RUST_LOG` sets its filter. By default a server logs every request, and a crowd
/// only warnings and errors.
pub(crate) fn start_log(mode: &Mode) {
    let default = match mode {
        Mode::Crowd(_) => "warn",
        Mode::Serve => "info",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}
