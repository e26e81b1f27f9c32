//! The process that runs the service.

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

/// A service in a process of its own, on free ports. The process ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    /// The address of the service.
    pub(crate) open: SocketAddr,
    /// The address that serves the numbers of the service.
    pub(crate) admin: SocketAddr,
    id: u32,
    _child: Child,
}

impl Process {
    /// Starts a service that is configured by these files of the folder, with more arguments. The first
    /// file is the outermost layer.
    pub(crate) async fn start(folder: &Path, files: &[&str], more: &[String]) -> Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(files.iter().flat_map(|file| ["--config", file]))
            .args(more)
            // The configuration names the rules file by a relative path.
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let said = child.stdout.take().context("the service has no standard output")?;
        let line = BufReader::new(said).lines().next_line().await?;
        let line = line.context("the service has ended before it was ready")?;
        let (open, admin) =
            line.split_once(' ').context("expected two addresses of the service")?;
        let id = child.id().context("the service does not run")?;
        Ok(Self { open: open.parse()?, admin: admin.parse()?, id, _child: child })
    }

    /// The CPU time that all threads of the process have used so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.id));
        let mut nanos = 0;
        for task in tasks.read_dir()? {
            // The thread may have ended since the directory was read.
            let Ok(line) = std::fs::read_to_string(task?.path().join("schedstat")) else {
                continue;
            };
            let on_cpu = line.split(' ').next().unwrap_or_default();
            nanos += on_cpu.parse::<u64>().context("nanoseconds in schedstat")?;
        }
        Ok(Duration::from_nanos(nanos))
    }
}
