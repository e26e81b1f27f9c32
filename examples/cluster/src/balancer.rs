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

/// A balancer that sends each request to another node. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Balancer {
    address: SocketAddr,
    _process: Child,
    _directory: TempDir,
}

impl Balancer {
    /// Starts it, and waits until it takes connections.
    pub(crate) async fn start(nodes: &[SocketAddr]) -> Result<Self> {
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
                bail!("{PROGRAM} has ended before it was ready: {status}");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(Self { address, _process: process, _directory: directory })
    }

    /// Where visitors go.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A connection that is refused goes to the next node. A request that has been sent goes to nobody
/// else: the node that has ended since may have let the visitor in.
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

/// An address that nobody listens on.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

const PROGRAM: &str = "haproxy";

/// More than the largest crowd has.
const CONNECTIONS: u32 = 6_000;
