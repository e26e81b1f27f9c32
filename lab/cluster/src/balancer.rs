//! HAProxy in front of the nodes.

use std::{
    fmt::Write,
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::sleep,
};

/// A balancer that sends each request to the next node. Its process ends when this is dropped.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    _process: Child,
    _directory: TempDir,
}

impl Balancer {
    /// Starts the balancer, and waits until it accepts connections.
    ///
    /// # Errors
    ///
    /// HAProxy is not installed, or has ended at once.
    pub async fn start(nodes: &[SocketAddr]) -> Result<Self> {
        let address = free_address()?;
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("haproxy.cfg");
        fs::write(&file, config(address, nodes)?)?;
        let mut process = Command::new(PROGRAM)
            .args(["-db", "-q", "-f"])
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{PROGRAM} does not start; apt-get install {PROGRAM}"))?;
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = process.try_wait()? {
                bail!("{PROGRAM} ended before it was ready: {status}");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(Self { address, _process: process, _directory: directory })
    }

    /// The address that visitors connect to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The configuration of HAProxy. If a node refuses a connection, the next node is tried. A request
/// that has been sent is never repeated on another node, because the first node may have admitted
/// the visitor before it failed.
fn config(address: SocketAddr, nodes: &[SocketAddr]) -> Result<String> {
    let mut config = format!(
        "global
    maxconn {CONNECTIONS}

defaults
    mode http
    timeout connect 1s
    timeout client 30s
    timeout server 30s
    retries 3
    option redispatch 1

frontend crowd
    bind {address}
    default_backend shop

backend shop
    balance roundrobin
    option httpchk GET /healthz
    default-server check inter 200ms fall 2 rise 1
"
    );
    for (number, node) in (1..).zip(nodes) {
        writeln!(config, "    server node{number} {node}")?;
    }
    Ok(config)
}

/// A loopback address on which no process listens.
///
/// # Errors
///
/// There is no free port.
pub fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

const PROGRAM: &str = "haproxy";

/// The maximum number of connections: more than the largest crowd opens.
const CONNECTIONS: u32 = 6_000;
