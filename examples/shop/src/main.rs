//! The program `shop`: serves the shop of the library of the same name, and sends visitors to it.

mod cli;
mod crowd;
mod metrics;
mod otlp;
mod server;

use std::{env, error::Error, io, process::ExitCode};

use tokio::{select, signal};
use tracing_subscriber::EnvFilter;

use crate::{cli::Cli, server::Server};

/// Exits with 2 if the shop could not open.
#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::read(env::args_os()).unwrap_or_else(|error| error.exit());
    start_log(&cli);
    match run(&cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shop: {error}");
            ExitCode::from(2)
        }
    }
}

/// Serves the shop until ctrl-c.
async fn run(cli: &Cli) -> Result<(), Box<dyn Error>> {
    let server = Server::open(cli).await?;
    let standing = if cli.quiet_shop { None } else { Some(crowd::standing(&cli.room, cli.crowd)) };
    let visitors = standing.map_or(0, |visitors| visitors.into_iter().sum());
    let visitors = tokio::spawn(crowd::stand(visitors, server.address));
    server.has_line(standing.map_or(0, |[_, in_line]| in_line)).await;
    let stop = stop()?;
    greet(&server, standing);
    stop.await;
    visitors.abort();
    server.close().await?;
    Ok(())
}

/// Prints the addresses, and what a person will see there.
fn greet(server: &Server, standing: Option<[u32; 2]>) {
    let Server { address, password, .. } = server;
    eprintln!("The shop       http://{address}");
    if let Some([inside, in_line]) = standing {
        eprintln!(
            "{:15}{inside} simulated visitors are inside, and {in_line} wait. Open it in a",
            ""
        );
        eprintln!("{:15}browser: your number falls, and then you are in.", "");
    }
    if let Some(password) = password {
        eprintln!("The dashboard  http://{address}/admin");
        eprintln!(
            "{:15}It shows the same room to its operator: name admin, password {password}",
            ""
        );
    }
    eprintln!("Ctrl-C closes the shop.");
}

/// Listens from now on, and waits for ctrl-c, or for SIGTERM, which `docker stop` and systemd send.
#[cfg(unix)]
fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut interrupted = signal::unix::signal(signal::unix::SignalKind::interrupt())?;
    let mut terminated = signal::unix::signal(signal::unix::SignalKind::terminate())?;
    Ok(async move { select!(_ = interrupted.recv() => (), _ = terminated.recv() => ()) })
}

/// Waits for ctrl-c.
#[cfg(not(unix))]
fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async { _ = signal::ctrl_c().await })
}

/// Starts the log. `RUST_LOG` sets its filter. By default a quiet shop logs every request, and one with
/// simulated visitors only errors.
fn start_log(cli: &Cli) {
    let default = if cli.quiet_shop { "info" } else { "error" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}
