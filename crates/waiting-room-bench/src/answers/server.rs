//! The handle on the process that is asked.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};

use super::house::Address;
use crate::measure::process_cpu_time;

/// A process that serves, until this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    pub(super) address: Address,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let mut process = Command::new(env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = process.stdout.as_mut().context("the output is piped")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = serde_json::from_str(&line).with_context(|| format!("it said {line:?}"))?;
        Ok(Self { process, address })
    }

    /// How long it has run so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        process_cpu_time(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
