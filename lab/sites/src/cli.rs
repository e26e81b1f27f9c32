//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use shop::{RecoveryName, RoomArgs, duration};
use tower_waiting_room::ConfigError;
use waiting_room_crowd::Crowd;
use waiting_room_engines::Engine;
use waiting_room_ledger::EscrowRules;

use crate::{
    fault::Fault,
    ledger::LedgerArgs,
    node::{NodeArgs, PolicyName, escrow},
};

/// Runs three sites of shops with one limit, two global ledgers, and a crowd to test them.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) plan: Plan,
    /// The fault to inject during the run.
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) fault: Fault,
    /// The policy of the sites in runs without a fault [default: each in turn]
    #[arg(long, value_enum, conflicts_with = "fault")]
    pub(crate) policy: Option<PolicyName>,
    /// Appends each run to this file, for a summary of many runs.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// Commands other than a run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs all faults, or the given ones, one after the other, and prints one table.
    Faults {
        /// The faults to run [default: all]
        #[arg(value_enum)]
        faults: Vec<Fault>,
    },
    /// Summarizes recorded runs: one row for each fault, with the worst of all runs.
    Summary {
        /// The files of `--record`.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Serves as one of the nodes.
    #[command(hide = true)]
    Node(NodeArgs),
    /// Serves as one of the global ledgers.
    #[command(hide = true)]
    Ledger(LedgerArgs),
}

/// The processes to start, and the crowd to send.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    /// The engine that stores the room of each site.
    #[arg(long, value_enum, default_value = "redis")]
    pub(crate) engine: EngineName,
    /// The number of nodes of each site.
    #[arg(long, value_name = "NODES", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) nodes: u8,
    /// The round-trip time between the sites and the ledgers.
    #[arg(long, value_name = "TIME", default_value = "70ms", value_parser = duration)]
    pub(crate) round_trip: Duration,
    /// The limit on active visitors of all sites.
    #[arg(long, value_name = "L", default_value_t = 720)]
    pub(crate) limit: u32,
    /// The limit on new visitors of all sites in any 60 seconds.
    #[arg(long, value_name = "N", default_value_t = 6_000)]
    pub(crate) rate: u32,
    /// The time for which a visitor stays active after its last request.
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = duration)]
    session: Duration,
    /// The time for which a site continues without a ledger.
    #[arg(long, value_name = "TIME", default_value = "9s", value_parser = duration)]
    lease: Duration,
    /// The number of visitors that arrive each second at the full load.
    #[arg(long, value_name = "VISITORS", default_value_t = 75, value_parser = clap::value_parser!(u32).range(1..=200))]
    per_second: u32,
    /// The time over which visitors arrive, to which the duration of a fault is added [default: 32s,
    /// and 60s without a fault]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    over: Option<Duration>,
    /// The seed of the arrivals and of the visitors' behaviour [default: random, and printed]
    #[arg(long)]
    seed: Option<u64>,
    /// A run with a fault fails as void unless this many visitors are admitted before it, during it
    /// and after it.
    #[arg(long, value_name = "VISITORS", default_value_t = 100)]
    pub(crate) admissions: u64,
}

/// The number of visitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Load {
    /// So few that no more than 80% of the slots are in use.
    Light,
    /// More than the sites can admit.
    Full,
    /// The same visitors, with a quarter of the limit on new visitors, which binds in place of the limit
    /// on active ones.
    Minute,
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
    /// The number of sites.
    pub(crate) const SITES: u16 = 3;
    /// The time that the line has to empty after the last arrival. Without a fault, it includes the
    /// beginning of another minute for sites that count.
    pub(crate) const fn drain(fault: Fault) -> Duration {
        Duration::from_secs(if matches!(fault, Fault::None) { 10 } else { 4 })
    }

    /// The rules of the room of each site, whose limits are those of all sites together.
    pub(crate) fn promised(&self) -> RoomArgs {
        RoomArgs {
            limit: self.limit,
            rate: self.rate,
            session: Some(self.session),
            refresh_interval: Duration::from_secs(2),
            place_retention: Duration::from_secs(60),
            line_capacity: 100_000,
            keys: Vec::new(),
            // A room without an account admits no visitor, whatever its rules are.
            recovery: Some(RecoveryName::Admit),
        }
    }

    /// The rules of the ledgers: a slot is held for as long as a pass can last.
    pub(crate) fn escrow(&self) -> Result<EscrowRules, ConfigError> {
        escrow(&self.promised(), self.lease)
    }

    /// The time for which a site continues without a ledger.
    pub(crate) const fn lease(&self) -> Duration {
        self.lease
    }

    /// The same plan with the limit on new visitors of a load.
    pub(crate) fn with_rate_of(&self, load: Load) -> Self {
        let rate = if load == Load::Minute { self.rate.div_ceil(4) } else { self.rate };
        Self { rate, ..self.clone() }
    }

    /// The time at which a fault begins. By default, the room is full, and the sessions of the first
    /// visitors have lapsed.
    pub(crate) fn fault_at(&self) -> Duration {
        self.over(Fault::Cut) * 9 / 16
    }

    /// The time over which visitors arrive, apart from the duration of the fault.
    fn over(&self, fault: Fault) -> Duration {
        self.over.unwrap_or(Duration::from_secs(if fault == Fault::None { 60 } else { 32 }))
    }

    /// The crowd to send.
    pub(crate) fn crowd(&self, load: Load, fault: Fault) -> Crowd {
        let over =
            self.over(fault) + if fault == Fault::None { Duration::ZERO } else { fault.lasts() };
        let seconds = u32::try_from(over.as_secs()).unwrap_or(u32::MAX).max(1);
        let visitors = match load {
            Load::Light => self.per_second.div_ceil(3),
            Load::Full | Load::Minute => self.per_second,
        };
        let visitors = visitors.saturating_mul(seconds);
        let promises = waiting_room_crowd::promises(&self.promised());
        Crowd::even(visitors, over, self.seed, promises)
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
    fn a_policy_is_chosen_only_for_runs_without_a_fault() {
        let parse = |more: &[&str]| {
            Cli::try_parse_from(["sites", "--policy", "counters"].iter().chain(more)).is_ok()
        };
        assert!(parse(&[]));
        assert!(!parse(&["--fault", "cut"]));
    }

    #[test]
    fn a_node_obeys_the_rules_that_it_is_started_with() {
        let plan = Cli::parse_from(["sites", "--session", "7s", "--lease", "5s"]).plan;
        let node = NodeArgs {
            listen: ([127, 0, 0, 1], 1).into(),
            store: "redis://127.0.0.1".to_owned(),
            site: 3,
            ledgers: vec!["a:1".to_owned(), "b:2".to_owned()],
            lease: plan.lease(),
            policy: PolicyName::Counters,
            room: plan.promised(),
        };
        let line = ["sites".to_owned()].into_iter().chain(node.arguments());
        let Some(Command::Node(read)) = Cli::parse_from(line).command else { panic!("no node") };
        assert_eq!((read.site, &read.ledgers), (3, &node.ledgers));
        assert_eq!((read.room.rate, read.policy), (6_000, PolicyName::Counters));
        let rules = escrow(&read.room, read.lease).unwrap();
        assert_eq!(rules, plan.escrow().unwrap());
        assert_eq!(rules.times()[0].1, Duration::from_millis(7_875));
    }
}
