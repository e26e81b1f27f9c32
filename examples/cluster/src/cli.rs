//! The command line.

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shop::{CrowdOrder, RecoveryName, RoomArgs, duration};
use tower_waiting_room::{ConfigError, KeyRing, TokenKey, room::RoomRules};
use waiting_room_engines::Engine;

use crate::{fault::Fault, node::NodeArgs};

/// Four shops behind one balancer and one Redis or Valkey, and a crowd to try them with.
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) plan: Plan,
    /// This goes wrong meanwhile.
    #[arg(long, value_enum, default_value = "none", help_heading = "Trouble")]
    pub(crate) fault: Fault,
}

/// What is to be done instead of one run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tries all faults, or some, one after the other, and prints one table.
    Faults {
        /// Only these [default: all]
        #[arg(value_enum)]
        faults: Vec<Fault>,
    },
    /// Serves as one of the nodes.
    #[command(hide = true)]
    Node(NodeArgs),
}

/// What is started, and who comes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    /// The server that the room lies on.
    #[arg(long, value_enum, default_value = "redis")]
    pub(crate) engine: EngineName,
    /// So many shops serve.
    #[arg(long, value_name = "NODES", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) nodes: u8,
    /// A decision takes no longer.
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = duration)]
    pub(crate) deadline: Duration,
    /// Every page takes this time to make.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = duration)]
    pub(crate) work: Duration,
    /// The way from the nodes to the store and back takes this time.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) round_trip: Duration,
    #[command(flatten)]
    room: RoomArgs,
    #[command(flatten)]
    crowd: CrowdArgs,
    /// It goes wrong at this time.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = "Trouble")]
    pub(crate) at: Duration,
    /// It is over after this time.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, help_heading = "Trouble")]
    pub(crate) lasts: Duration,
    /// So many have to be let in before the trouble, meanwhile if the store answers, and after it, or
    /// the run proves nothing and fails.
    #[arg(long, value_name = "VISITORS", default_value_t = 100, help_heading = "Trouble")]
    pub(crate) admissions: u64,
    /// How long answers take is shown and not judged, since this machine is busy.
    #[arg(long, help_heading = "Trouble")]
    pub(crate) ignore_times: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Crowd")]
struct CrowdArgs {
    /// So many visitors come.
    #[arg(long, value_name = "VISITORS", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    visitors: u32,
    /// They arrive over this time.
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = duration)]
    over: Duration,
    /// After the last arrival the line has this time to empty.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = duration)]
    drain: Duration,
    /// Who comes when and does what follows from this number [default: random, and printed]
    #[arg(long)]
    seed: Option<u64>,
}

/// A server that a room can lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// Redis.
    Redis,
    /// Valkey.
    Valkey,
}

impl Plan {
    /// A session that ends while the crowd is about.
    const SESSION: Duration = Duration::from_secs(20);

    /// The rules of the room. It holds after a loss, unless told otherwise.
    pub(crate) fn room(&self) -> RoomArgs {
        RoomArgs {
            session: self.room.session.or(Some(Self::SESSION)),
            recovery: self.room.recovery.or(Some(RecoveryName::Pause)),
            ..self.room.clone()
        }
    }

    /// For how long nobody new is let in after a loss.
    pub(crate) fn recovery_pause(&self) -> Result<Duration, ConfigError> {
        let keys = KeyRing::new(TokenKey::random());
        let config = self.room().config(Some(keys))?;
        Ok(config.room().map_or(Duration::ZERO, RoomRules::recovery_pause))
    }

    /// Who comes.
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
