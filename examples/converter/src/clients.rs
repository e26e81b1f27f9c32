//! The clients. They connect over real sockets, and run in a process of their own, so that the CPU
//! time they use is not attributed to the server.
//!
//! Each client has its own connection, sends a picture, and sends it again as soon as it has its
//! answer. It obeys `Retry-After`. In addition, one client requests only the health check, to
//! measure how responsive the server is.

use std::{
    env,
    error::Error,
    io::{self, Write},
    net::SocketAddr,
    process::Stdio,
};

use axum::body::Bytes;
use tokio::{
    process::{Child, Command},
    task::JoinSet,
    time::Instant,
};

use crate::{
    app::{CONVERT, HEALTH},
    cli::{ClientsOrder, Plan},
    client::{Client, pass_by},
    picture,
    seen::Seen,
};

/// Runs all clients, and writes what they saw to standard output.
///
/// # Errors
///
/// A client cannot be created or the health check fails, or standard output is closed.
pub(crate) async fn live(order: &ClientsOrder) -> Result<(), Box<dyn Error>> {
    let ClientsOrder { server, clients, length } = *order;
    let source = Bytes::from(picture::source(WIDTH, HEIGHT)?);
    let until = Instant::now() + length;
    let mut lives = JoinSet::new();
    for number in 0..clients {
        let spread = f64::from(number) / f64::from(clients);
        let client = Client::new(format!("http://{server}{CONVERT}"), source.clone(), spread)?;
        lives.spawn(client.live(until));
    }
    let passing = tokio::spawn(pass_by(format!("http://{server}{HEALTH}"), until));
    let mut seen = Seen::default();
    while let Some(life) = lives.join_next().await {
        seen.add(life?);
    }
    seen.health_us = passing.await??;
    serde_json::to_writer(io::stdout().lock(), &seen)?;
    io::stdout().flush()?;
    Ok(())
}

/// The size of the picture in pixels. Its conversion takes some hundredths of a second.
const WIDTH: u32 = 1280;
const HEIGHT: u32 = 960;

/// The process of the clients. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Clients(Child);

impl Clients {
    /// Starts the clients for a server.
    pub(crate) fn send(server: SocketAddr, plan: &Plan) -> io::Result<Self> {
        let Plan { clients, length, .. } = plan;
        Command::new(env::current_exe()?)
            .arg("clients")
            .args(["--server", &server.to_string()])
            .args(["--clients", &clients.to_string()])
            .args(["--length", &humantime::format_duration(*length).to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map(Self)
    }

    /// Waits until the clients have finished, and returns what they saw.
    pub(crate) async fn seen(self) -> Result<Seen, Box<dyn Error>> {
        let output = self.0.wait_with_output().await?;
        if !output.status.success() {
            return Err(format!("the clients have failed: {}", output.status).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
