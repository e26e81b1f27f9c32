//! The command line.

use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use shop::{RecoveryName, RoomArgs, duration};
use tower_waiting_room::{ConfigError, KeyRing, TokenKey};
use waiting_room_crowd::Crowd;
use waiting_room_engines::Engine;

use crate::{
    fault::{Fault, Timing},
    node::NodeArgs,
};

/// Runs four shops behind one balancer and one Redis or Valkey, and a crowd to test them.
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) plan: Plan,
    /// The fault to inject during the run.
    #[arg(long, value_enum, default_value = "none", help_heading = "Trouble")]
    pub(crate) fault: Fault,
}

/// Commands other than a single run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs all faults, or the given ones, one after the other, and prints one table.
    Faults {
        /// The faults to run [default: all]
        #[arg(value_enum)]
        faults: Vec<Fault>,
    },
    /// Serves as one of the nodes.
    #[command(hide = true)]
    Node(NodeArgs),
}

/// The processes to start, and the crowd to send.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    /// The engine that stores the room.
    #[arg(long, value_enum, default_value = "redis")]
    pub(crate) engine: EngineName,
    /// The number of shops.
    #[arg(long, value_name = "NODES", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) nodes: u8,
    /// The deadline of a decision by the store.
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = duration)]
    pub(crate) deadline: Duration,
    /// The time that it takes to make a page.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) work: Duration,
    /// The round-trip time between the nodes and the store.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) round_trip: Duration,
    #[command(flatten)]
    room: RoomArgs,
    #[command(flatten)]
    crowd: CrowdArgs,
    /// The time at which the fault begins.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration, help_heading = "Trouble")]
    pub(crate) at: Duration,
    /// The duration of the fault [default: 25s for none and nodes, 3s for all others]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Trouble")]
    lasts: Option<Duration>,
    /// The run fails as void unless this many visitors are admitted before the fault, after it,
    /// and, if the store stays available, during it.
    #[arg(long, value_name = "VISITORS", default_value_t = 100, help_heading = "Trouble")]
    pub(crate) admissions: u64,
    /// Reports response times without judging them, for a busy machine.
    #[arg(long, help_heading = "Trouble")]
    pub(crate) ignore_times: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Crowd")]
struct CrowdArgs {
    /// The number of visitors.
    #[arg(long, value_name = "VISITORS", default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    visitors: u32,
    /// The time over which visitors arrive [default: 40s to 48s, depending on the fault]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    over: Option<Duration>,
    /// The time that the line has to empty after the last arrival [default: 75s if the fault may
    /// lose state, else 5s to 20s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    drain: Option<Duration>,
    /// The seed of the arrivals and of the visitors' behaviour [default: random, and printed]
    #[arg(long)]
    seed: Option<u64>,
}

/// The engine that stores a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// Redis.
    Redis,
    /// Valkey.
    Valkey,
}

impl Cli {
    /// Reads the command line of this process. Prints the error, and exits, if it is invalid.
    pub(crate) fn from_process() -> Self {
        let read = Self::from_arg_matches(&Self::definition().get_matches());
        read.unwrap_or_else(|error| error.exit())
    }

    /// The definition of the command line. The room has smaller limits than that of a single shop,
    /// so that visitors are admitted throughout the run.
    fn definition() -> clap::Command {
        let defaults = [("limit", "60"), ("rate", "6000"), ("refresh_interval", "2s")];
        defaults.into_iter().fold(Self::command(), |command, (name, value)| {
            command.mut_arg(name, |argument| argument.default_value(value))
        })
    }
}

impl Plan {
    /// The default session, so short that visitors leave and are admitted all the time.
    const SESSION: Duration = Duration::from_secs(5);

    /// The rules of the room. The recovery is `pause` by default.
    pub(crate) fn room(&self) -> RoomArgs {
        RoomArgs {
            session: self.room.session.or(Some(Self::SESSION)),
            recovery: self.room.recovery.or(Some(RecoveryName::Pause)),
            ..self.room.clone()
        }
    }

    /// The time for which no newcomer is admitted after a loss of state.
    pub(crate) fn recovery_pause(&self) -> Result<Duration, ConfigError> {
        let keys = KeyRing::new(TokenKey::random());
        let config = self.room().config(Some(keys))?;
        Ok(config.room().map_or(Duration::ZERO, |rules| rules.timing().recovery_pause()))
    }

    /// The durations of a run with this fault.
    pub(crate) fn timing(&self, fault: Fault) -> Timing {
        let Timing { lasts, over, drain } = fault.timing();
        Timing {
            lasts: self.lasts.unwrap_or(lasts),
            over: self.crowd.over.unwrap_or(over),
            drain: self.crowd.drain.unwrap_or(drain),
        }
    }

    /// The crowd to send in a run with these durations.
    pub(crate) fn crowd(&self, timing: &Timing) -> Crowd {
        let promises = waiting_room_crowd::promises(&self.room());
        Crowd::even(self.crowd.visitors, timing.over, self.crowd.seed, promises)
    }
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Redis => Self::Redis,
            EngineName::Valkey => Self::Valkey,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::definition().debug_assert();
    }

    #[test]
    fn by_default_visitors_are_admitted_throughout_the_run() {
        let read = Cli::definition().get_matches_from(["cluster"]);
        let plan = Cli::from_arg_matches(&read).unwrap().plan;
        let room = plan.room();
        assert_eq!((room.limit, room.rate, room.session), (60, 6_000, Some(Plan::SESSION)));
        assert_eq!(room.refresh_interval, Duration::from_secs(2));
        let read = Cli::definition().get_matches_from(["cluster", "--limit", "7"]);
        assert_eq!(Cli::from_arg_matches(&read).unwrap().plan.room().limit, 7);
    }

    #[test]
    fn a_node_obeys_the_rules_that_it_is_started_with() {
        let line = "cluster --limit 7 --rate 9 --session 1m30s --refresh-interval 5s";
        let room = Cli::parse_from(line.split_whitespace()).plan.room();
        assert_eq!(room.recovery, Some(RecoveryName::Pause));
        let told = "cluster node --listen 127.0.0.1:1 --store redis://127.0.0.1 --deadline 50ms \
                    --work 0";
        let told = told.split_whitespace().map(str::to_owned).chain(room.flags());
        let Some(Command::Node(node)) = Cli::parse_from(told).command else { panic!("no node") };
        assert_eq!(node.room, room);
        assert_eq!(node.deadline, Duration::from_millis(50));
    }
}
