//! HAProxy in front of the service.

use std::{
    env, fs,
    net::TcpListener,
    path::PathBuf,
    process::{self, Command},
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::{net::TcpStream, time::sleep};

use crate::{child::Process, requests::runtime};

/// A proxy with a queue, which is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Haproxy {
    _process: Process,
    config: PathBuf,
    pub(super) port: u16,
}

impl Haproxy {
    pub(super) fn is_installed() -> bool {
        Command::new("haproxy").arg("-v").output().is_ok()
    }

    /// Starts the proxy for the service on this port. `limit` requests may run, and others wait for
    /// at most `queue`.
    pub(super) fn start(service: u16, limit: u32, queue: Duration) -> Result<Self> {
        // HAProxy cannot choose a free port by itself; this one was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let config = env::temp_dir().join(format!("waiting-room-bench-{}-{port}", process::id()));
        fs::write(&config, configuration(port, service, limit, queue))?;
        let process =
            Process::start(Command::new("haproxy").args(["-db", "-q", "-f"]).arg(&config));
        let this = Self { _process: process?, config, port };
        runtime()
            .block_on(async {
                for _ in 0..LOOKS {
                    if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                        return Some(());
                    }
                    sleep(LOOK).await;
                }
                None
            })
            .with_context(|| format!("HAProxy does not listen on {port}"))?;
        Ok(this)
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        // If it fails, a small file stays among the temporary ones.
        let _ = fs::remove_file(&self.config);
    }
}

fn configuration(port: u16, service: u16, limit: u32, queue: Duration) -> String {
    format!(
        "global
    maxconn 4000
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout queue {queue}ms
    option abortonclose
    http-reuse always
    retries 0
listen gate
    bind 127.0.0.1:{port}
    server service 127.0.0.1:{service} maxconn {limit}
",
        queue = queue.as_millis(),
    )
}

const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 250;
