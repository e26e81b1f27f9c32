//! The handle on the process that is asked.

use std::time::Duration;

use anyhow::Result;

use super::house::Address;
use crate::{measure::process_cpu_time, setting::Process};

/// A process that serves, until this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    process: Process,
    pub(super) address: Address,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let (process, address) = Process::of_this_program(&["serve"])?;
        Ok(Self { process, address })
    }

    /// How long it has run so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        process_cpu_time(self.process.id())
    }
}
