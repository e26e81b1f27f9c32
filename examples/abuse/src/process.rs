//! The process that the service is in.

use std::{
    env,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// A service in a process of its own, on free ports. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    /// Where it serves.
    pub(crate) open: SocketAddr,
    /// Where it tells its numbers.
    pub(crate) admin: SocketAddr,
    id: u32,
    _child: Child,
}

impl Process {
    /// Starts a service by the files of this folder, of which the first is the outermost layer.
    pub(crate) async fn start(folder: &Path, files: &[&str]) -> Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(files.iter().flat_map(|file| ["--config", file]))
            // The rules file is named relative to the configuration.
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let said = child.stdout.take().context("the output of the service")?;
        let line = BufReader::new(said).lines().next_line().await?;
        let line = line.context("the service has ended before it was ready")?;
        let (open, admin) = line.split_once(' ').context("two addresses of the service")?;
        let id = child.id().context("a service that runs")?;
        Ok(Self { open: open.parse()?, admin: admin.parse()?, id, _child: child })
    }

    /// The CPU time that it has used.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.id));
        let mut nanos = 0;
        for task in tasks.read_dir()? {
            // A thread may have ended meanwhile.
            let Ok(line) = std::fs::read_to_string(task?.path().join("schedstat")) else {
                continue;
            };
            let on_cpu = line.split(' ').next().unwrap_or_default();
            nanos += on_cpu.parse::<u64>().context("nanoseconds in schedstat")?;
        }
        Ok(Duration::from_nanos(nanos))
    }
}
