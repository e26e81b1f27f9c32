//! The command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};

/// Converts pictures for a crowd of clients, without a gate and with one, and measures the CPU.
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) role: Option<Role>,
    #[command(flatten)]
    pub(crate) plan: Plan,
}

/// The other roles of this program.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Runs the clients in a process of their own, which the server starts.
    #[command(hide = true)]
    Clients(ClientsOrder),
}

/// The settings of the measurement.
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// The share of the CPU, of all cores together, that the conversions may use.
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u32).range(10..=95))]
    pub(crate) cpu: u32,
    /// The number of clients; each sends its next request as soon as the last one is served.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) clients: u32,
    /// The duration of each run.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = length)]
    pub(crate) length: Duration,
    /// The number of requests that may wait; beyond it, clients are told when to return.
    #[arg(long, value_name = "PLACES", default_value_t = 32)]
    pub(crate) queue: u32,
    /// The maximum time that a request waits.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) max_wait: Duration,
    /// Adds a run with a limit that adapts to the measured CPU.
    #[arg(long)]
    adaptive: bool,
    /// Also writes `converter.csv`, `converter-cpu.csv` and `converter.svg` into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) out: Option<PathBuf>,
}

/// The way in which a run limits concurrency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A limit that adapts to the measured CPU.
    Adaptive,
    /// A limit and a pace that together result in the requested share.
    Fixed,
    /// No limit: all requests are converted at once.
    Ungated,
}

/// The orders for the process of the clients.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ClientsOrder {
    #[arg(long)]
    pub(crate) server: SocketAddr,
    #[arg(long)]
    pub(crate) clients: u32,
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) length: Duration,
}

impl Plan {
    /// The ways to run, one after the other.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> {
        let adaptive = self.adaptive.then_some(Way::Adaptive);
        [Way::Ungated, Way::Fixed].into_iter().chain(adaptive)
    }
}

impl Way {
    /// The name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive limit",
            Self::Fixed => "fixed limit",
            Self::Ungated => "without a gate",
        }
    }
}

fn length(text: &str) -> Result<Duration, String> {
    let length = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (SHORTEST..=LONGEST).contains(&length) {
        return Ok(length);
    }
    Err(format!("expected at least {SHORTEST:?} and at most {LONGEST:?}"))
}

/// The minimum duration, which leaves something to judge after the start.
const SHORTEST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn impossible_settings_are_refused() {
        let parse = |line: &str| Cli::try_parse_from(line.split_whitespace());
        assert!(parse("converter --for 10s --cpu 95 --clients 256").is_ok());
        for line in ["--for 9s", "--for 11m", "--cpu 9", "--cpu 96", "--clients 0", "--clients 257"]
        {
            assert!(parse(&format!("converter {line}")).is_err(), "{line}");
        }
    }
}
