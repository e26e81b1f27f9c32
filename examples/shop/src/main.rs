//! The program `shop`: serves the shop of the library of the same name, or sends a crowd to it and
//! judges what the crowd saw.

mod cli;
mod crowd;
mod metrics;
mod otlp;

use std::{env, error::Error, io, net::SocketAddr, process::ExitCode};

use clap::Parser;
use rand::{
    TryRng,
    rngs::{SysError, SysRng},
};
use shop::app;
use tokio::{net::TcpListener, signal};
use tower_waiting_room::WaitingRoomLayer;
use tracing_subscriber::EnvFilter;
use waiting_room_dashboard::{Dashboard, basic_auth};

use crate::{cli::Cli, otlp::Collector};

/// Exits with 0 on success, with 1 if the room broke a promise to the crowd, and with 2 if the run could
/// not start.
#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("shop: {error}");
            ExitCode::from(2)
        }
    }
}

/// Serves the shop, or runs a crowd, as the command line says.
async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let cli = Cli::parse();
    start_log(&cli);
    if !cli.sends_crowd() {
        serve(&cli).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = crowd::run(&cli.room, &cli.crowd).await?;
    let report = outcome.report();
    if cli.crowd.json {
        eprintln!("{outcome}");
        println!("{}", serde_json::to_string(report)?);
    } else {
        println!("{outcome}");
    }
    Ok(if report.violations().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Serves until ctrl-c, then completes the running requests and the exports of metrics.
async fn serve(cli: &Cli) -> Result<(), Box<dyn Error>> {
    let config = cli.config()?;
    let collector = match &cli.otlp {
        Some(collector) => Some(collector.clone()),
        None => Collector::from_environment()?,
    };
    let listener = TcpListener::bind(cli.listen).await?;
    let address = listener.local_addr()?;
    let (prometheus, exports) = metrics::install(collector.as_ref())?;
    let room = WaitingRoomLayer::new(config);
    let metrics = metrics::route(prometheus, room.handle());
    if exports.is_some() {
        metrics::keep_recording(room.handle());
    }
    let dashboard = if cli.admin { Some(admin(&room, address)?) } else { None };
    let shop = app(room).merge(metrics);
    // The dashboard is outside of the room, so the operator does not wait in line.
    let shop = match &dashboard {
        Some(dashboard) => shop.nest_service("/admin", dashboard.router()),
        None => shop,
    };
    eprintln!("the shop is open on http://{address}; ctrl-c closes it");
    let stopped = async move {
        stop().await;
        // An open page of the dashboard would otherwise delay the end by up to a minute.
        if let Some(dashboard) = dashboard {
            dashboard.end_streams();
        }
    };
    axum::serve(listener, shop).with_graceful_shutdown(stopped).await?;
    if let Some(exports) = exports {
        exports.close().await;
    }
    Ok(())
}

/// The dashboard of the operator `admin`. Prints its address, and its password if it is random.
fn admin(room: &WaitingRoomLayer, address: SocketAddr) -> Result<Dashboard, Box<dyn Error>> {
    let password = match env::var("SHOP_ADMIN_PASSWORD") {
        Ok(password) => password,
        Err(_) => {
            let password = format!("{:032x}", u128::from_le_bytes(random_bytes()?));
            eprintln!("the password of admin is {password}");
            password
        }
    };
    let auth = basic_auth("admin", &password)?;
    eprintln!("the dashboard is on http://{address}/admin");
    Ok(Dashboard::new(room.handle(), auth))
}

fn random_bytes() -> Result<[u8; 16], SysError> {
    let mut bytes = [0; 16];
    SysRng.try_fill_bytes(&mut bytes)?;
    Ok(bytes)
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
fn start_log(cli: &Cli) {
    let default = if cli.sends_crowd() { "warn" } else { "info" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}
