//! Requests as fast as they are answered, from another core.

use std::{thread, time::Duration};

use anyhow::Result;
use clap::ValueEnum;

use super::{
    client,
    targets::{Load, Target},
    wrk,
};
use crate::measure::pin_to;

/// What sends the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadKind {
    /// hyper in this process. It takes more of its core than a server does, so the figures are as
    /// much its own as the server's.
    Hyper,
    /// The `wrk` program.
    Wrk,
}

impl LoadKind {
    /// The better one of those that are there.
    pub(super) fn best() -> Self {
        if wrk::is_installed() { Self::Wrk } else { Self::Hyper }
    }

    /// Sends the requests of a target for so long.
    pub(super) fn run(self, target: &Target, duration: Duration) -> Result<Load> {
        thread::scope(|scope| {
            let load = scope.spawn(|| {
                pin_to(1)?;
                match self {
                    Self::Hyper => client::run(target, duration, CONNECTIONS),
                    Self::Wrk => wrk::run(target, duration, CONNECTIONS),
                }
            });
            load.join().expect("what can go wrong with a load is an error")
        })
    }
}

/// As many clients ask at a time.
pub(super) const CONNECTIONS: usize = 32;
