//! The process that the clients are in.

use std::{env, error::Error, io, net::SocketAddr, process::Stdio};

use tokio::process::{Child, Command};

use super::Seen;
use crate::cli::Plan;

/// Clients that are asking. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Clients(Child);

impl Clients {
    /// Sends them to a server.
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

    /// Waits until they are done, and says what they saw.
    pub(crate) async fn seen(self) -> Result<Seen, Box<dyn Error>> {
        let output = self.0.wait_with_output().await?;
        if !output.status.success() {
            return Err(format!("the clients have failed: {}", output.status).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
