//! The command line.

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shop::{CrowdOrder, RecoveryName, RoomArgs, duration};
use tower_waiting_room::{ConfigError, KeyRing, TokenKey, room::RoomRules};
use waiting_room_engines::Engine;

use crate::{fault::Fault, node::NodeArgs};

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
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = duration)]
    pub(crate) deadline: Duration,
    /// The time that it takes to make a page.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = duration)]
    pub(crate) work: Duration,
    /// The round-trip time between the nodes and the store.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) round_trip: Duration,
    #[command(flatten)]
    room: RoomArgs,
    #[command(flatten)]
    crowd: CrowdArgs,
    /// The time at which the fault begins.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Trouble")]
    pub(crate) at: Duration,
    /// The duration of the fault.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, help_heading = "Trouble")]
    pub(crate) lasts: Duration,
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
    #[arg(long, value_name = "VISITORS", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    visitors: u32,
    /// The time over which visitors arrive.
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = duration)]
    over: Duration,
    /// The time that the line has to empty after the last arrival.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = duration)]
    drain: Duration,
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

impl Plan {
    /// The default session, short enough to end while the crowd is still running.
    const SESSION: Duration = Duration::from_secs(20);

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
        Ok(config.room().map_or(Duration::ZERO, RoomRules::recovery_pause))
    }

    /// The crowd to send.
    pub(crate) const fn order(&self) -> CrowdOrder {
        let CrowdArgs { visitors, over, drain, seed } = self.crowd;
        CrowdOrder::even(visitors, over, drain, seed)
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
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
