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

/// What else this program is.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// The clients, in a process of their own; the server starts it.
    #[command(hide = true)]
    Clients(ClientsOrder),
}

/// What is tried.
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// How much of the CPU, of all cores together, the conversions may take.
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u32).range(10..=95))]
    pub(crate) cpu: u32,
    /// So many clients ask, and each asks again as soon as it is served.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) clients: u32,
    /// For how long they ask in each run.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = length)]
    pub(crate) length: Duration,
    /// So many of them may wait; over it, they are told when to come back.
    #[arg(long, value_name = "PLACES", default_value_t = 32)]
    pub(crate) queue: u32,
    /// For how long they may wait.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) max_wait: Duration,
    /// Adds a run with a limit that is found by measuring the CPU.
    #[arg(long)]
    adaptive: bool,
    /// Also write `converter.csv`, `converter-cpu.csv` and `converter.svg` into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) out: Option<PathBuf>,
}

/// How it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// With a limit that is found by measuring the CPU.
    Adaptive,
    /// With a limit and a pace that come to the share that is asked for.
    Fixed,
    /// Everybody converts at once.
    Ungated,
}

/// What the clients are to do.
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
    /// In which ways it is tried, one after the other.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> {
        let adaptive = self.adaptive.then_some(Way::Adaptive);
        [Way::Ungated, Way::Fixed].into_iter().chain(adaptive)
    }
}

impl Way {
    /// How it is called in tables.
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

/// There is something left to judge when the start is over.
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
    fn what_cannot_be_tried_is_refused() {
        let parse = |line: &str| Cli::try_parse_from(line.split_whitespace());
        assert!(parse("converter --for 10s --cpu 95 --clients 256").is_ok());
        for line in ["--for 9s", "--for 11m", "--cpu 9", "--cpu 96", "--clients 0", "--clients 257"]
        {
            assert!(parse(&format!("converter {line}")).is_err(), "{line}");
        }
    }
}
