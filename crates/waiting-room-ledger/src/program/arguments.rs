//! The arguments of the program.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use waiting_room_core::ConfigError;

use crate::{
    escrow::{Epoch, EscrowRules, Term},
    keeper::Failover,
    slots::SiteId,
};

/// The global ledger of waiting rooms that several sites share.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sets a room up in PostgreSQL, once, before the first `serve`
    SetUp(SetUp),
    /// Runs a ledger, or a standby while another one holds the room
    Serve(Serve),
    /// Declares that PostgreSQL may have lost acknowledged changes, and repeats lost commands of
    /// operators: the next ledger learns the rest from the sites
    Recover(Recover),
    /// Shows a room: its limit, and the account of each site
    Status(Operator),
    /// Adds a site, or ends its draining
    AddSite(OfSite),
    /// Prepares the removal of a site, which gets no more slots
    Drain(OfSite),
    /// Removes a site that holds nothing
    Remove(OfSite),
    /// Declares that a site is switched off, so that its slots are free earlier
    Fence(FenceSite),
    /// Changes the limit
    SetLimit(SetLimit),
}

/// The keeper and its options.
#[derive(Args, Debug)]
pub(crate) struct KeeperOf {
    /// The PostgreSQL server that keeps the rooms: postgres://…
    #[arg(long, env = "WAITING_ROOM_LEDGER_KEEPER", hide_env_values = true)]
    pub(crate) keeper: String,
    /// Whether a standby of PostgreSQL may be promoted
    #[arg(long, value_enum, default_value_t = FailoverOf::None)]
    pub(crate) failover: FailoverOf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FailoverOf {
    /// No; if a standby is promoted anyway, the room has to be recovered
    None,
    /// Yes, one that confirms every commit
    Synchronous,
}

/// The limit, the sites and the rules of a room.
#[derive(Args, Clone, Debug)]
pub(crate) struct World {
    /// The limit: active visitors, or new visitors in a minute with --rolling-minute
    #[arg(long)]
    limit: Option<u32>,
    /// The numbers of all sites, such as 1,2,3
    #[arg(long, value_delimiter = ',')]
    sites: Vec<u16>,
    /// How long a slot stays taken after the last request of its visitor; 300s by default
    #[arg(long, value_parser = humantime::parse_duration)]
    session: Option<Duration>,
    /// How long a site may continue without the ledger; 120s by default
    #[arg(long, value_parser = humantime::parse_duration)]
    lease: Option<Duration>,
    /// How often a site reports; 1s by default
    #[arg(long, value_parser = humantime::parse_duration)]
    heartbeat: Option<Duration>,
    /// How long a visitor is held while a slot is requested; 1200ms by default
    #[arg(long, value_parser = humantime::parse_duration)]
    borrow_wait: Option<Duration>,
    /// How far clocks may drift apart in a lease and a session; by default a 256th of them
    #[arg(long, value_parser = humantime::parse_duration)]
    drift_margin: Option<Duration>,
    /// The limit is on new visitors in any sixty seconds
    #[arg(long, conflicts_with = "session")]
    rolling_minute: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SetUp {
    #[command(flatten)]
    pub(crate) keeper: KeeperOf,
    /// The name of the room
    #[arg(long)]
    pub(crate) room: String,
    #[command(flatten)]
    pub(crate) world: World,
    /// A number above all terms of an earlier world, if the sites have been part of one
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) first_term: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) keeper: KeeperOf,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1:7400")]
    pub(crate) listen: String,
    /// The address on which Prometheus reads the metrics; without it, there are none
    #[arg(long)]
    pub(crate) metrics: Option<SocketAddr>,
    /// The names of the rooms
    #[arg(long, required = true, value_delimiter = ',')]
    pub(crate) room: Vec<String>,
    /// The file with the keys that sites share with the ledger, one per line; a line that begins with
    /// the number of a site and a space holds a key for that site only
    #[arg(long)]
    pub(crate) site_keys: PathBuf,
    /// The file with the keys of operators; without it, no orders are accepted
    #[arg(long)]
    pub(crate) operator_keys: Option<PathBuf>,
    /// The name of this process in the keeper
    #[arg(long, default_value_t = format!("process {}", std::process::id()))]
    pub(crate) name: String,
}

#[derive(Args, Debug)]
pub(crate) struct Recover {
    #[command(flatten)]
    pub(crate) keeper: KeeperOf,
    /// The name of the room
    #[arg(long)]
    pub(crate) room: String,
    /// The numbers of sites whose addition, or whose end of draining, the list has lost
    #[arg(long, value_delimiter = ',')]
    pub(crate) add_site: Vec<u16>,
    /// The numbers of sites that were fenced
    #[arg(long, value_delimiter = ',')]
    pub(crate) fence: Vec<u16>,
    /// The limit, if it was changed
    #[arg(long)]
    pub(crate) limit: Option<u32>,
    /// A number above all terms that sites know, if it has to be raised by more than 1024
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) first_term: Option<u32>,
}

/// The addresses of the ledgers.
#[derive(Args, Debug)]
pub(crate) struct Operator {
    /// The addresses of all ledgers; the holder is found among them
    #[arg(long, required = true, value_delimiter = ',', env = "WAITING_ROOM_LEDGERS")]
    pub(crate) ledgers: Vec<String>,
    /// The name of the room
    #[arg(long)]
    pub(crate) room: String,
    /// The file with the key of operators
    #[arg(long, env = "WAITING_ROOM_LEDGER_OPERATOR_KEYS")]
    pub(crate) operator_keys: PathBuf,
    /// How long to look for the holder, for example while a standby takes over
    #[arg(long, value_parser = humantime::parse_duration, default_value = "5s")]
    pub(crate) wait: Duration,
}

#[derive(Args, Debug)]
pub(crate) struct OfSite {
    /// The number of the site
    pub(crate) site: u16,
    #[command(flatten)]
    pub(crate) operator: Operator,
}

#[derive(Args, Debug)]
pub(crate) struct FenceSite {
    /// The number of the site
    pub(crate) site: u16,
    /// The epoch of its account, as `status` shows it, such as 3/1
    #[arg(long, value_parser = parse_epoch)]
    pub(crate) epoch: Epoch,
    #[command(flatten)]
    pub(crate) operator: Operator,
}

#[derive(Args, Debug)]
pub(crate) struct SetLimit {
    /// The new limit
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) operator: Operator,
}

impl World {
    /// The limit and the sites, each of them once.
    pub(crate) fn limit_and_sites(&self) -> Result<(u32, BTreeSet<SiteId>), String> {
        let limit = self.limit.filter(|_| !self.sites.is_empty());
        let limit = limit.ok_or("limit and sites are missing, expected both")?;
        let sites: BTreeSet<_> = self.sites.iter().copied().map(SiteId::new).collect();
        if sites.len() < self.sites.len() {
            return Err(format!("sites is {:?}, expected each site only once", self.sites));
        }
        Ok((limit, sites))
    }

    /// The rules, if they are valid.
    pub(crate) fn rules(&self) -> Result<EscrowRules, ConfigError> {
        let mut rules =
            if self.rolling_minute { EscrowRules::rolling_minute() } else { EscrowRules::new() };
        if let Some(session) = self.session {
            rules = rules.session(session);
        }
        if let Some(lease) = self.lease {
            rules = rules.lease(lease);
        }
        if let Some(heartbeat) = self.heartbeat {
            rules = rules.heartbeat(heartbeat);
        }
        if let Some(wait) = self.borrow_wait {
            rules = rules.borrow_wait(wait);
        }
        if let Some(margin) = self.drift_margin {
            rules = rules.drift_margin(margin);
        }
        rules.validate()
    }
}

impl From<FailoverOf> for Failover {
    fn from(failover: FailoverOf) -> Self {
        match failover {
            FailoverOf::None => Self::None,
            FailoverOf::Synchronous => Self::Synchronous,
        }
    }
}

/// Reads an epoch as `status` shows it.
fn parse_epoch(text: &str) -> Result<Epoch, String> {
    let expected = || format!("epoch is {text:?}, expected a term and a number, such as 3/1");
    let (term, count) = text.split_once('/').ok_or_else(expected)?;
    let number = |text: &str| text.parse().map_err(|_| expected());
    Ok(Epoch::new(Term::new(number(term)?), number(count)?))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_epoch_is_parsed_as_the_status_prints_it() {
        assert_eq!(parse_epoch("3/1"), Ok(Epoch::new(Term::new(3), 1)));
        let error = "epoch is \"3\", expected a term and a number, such as 3/1";
        assert_eq!(parse_epoch("3").unwrap_err(), error);
    }
}
