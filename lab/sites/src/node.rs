//! One node of a site: a shop in a process of its own.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use cluster::serve_until_end;
use shop::RoomArgs;
use tokio::net::TcpListener;
use tower_waiting_room::{ConfigError, StoreFailure, WaitingRoomLayer, config::DebugHeader};
use waiting_room_ledger::{EscrowRules, Policy, SharedKeys, SiteId, SiteOptions, SiteStore};
use waiting_room_redis::RedisStoreOptions;

use crate::{
    calls::{CountedStore, tells_calls},
    ledger::{MINUTE_ROOM, SITE_KEY},
};

/// The deadline of a decision by the store. It is longer than the default, because a machine that
/// runs all sites and their visitors may be busy for a while.
const DEADLINE: Duration = Duration::from_millis(250);

/// The settings of a node.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeArgs {
    /// The address to serve on.
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// The URL of the store of the site.
    #[arg(long)]
    pub(crate) store: String,
    /// The number of the site.
    #[arg(long)]
    pub(crate) site: u16,
    /// The addresses of the global ledgers.
    #[arg(long, value_delimiter = ',')]
    pub(crate) ledgers: Vec<String>,
    /// The time for which the site continues without a ledger.
    #[arg(long, value_parser = shop::duration)]
    pub(crate) lease: Duration,
    /// The policy by which the site shares the limit with others.
    #[arg(long, value_enum)]
    pub(crate) policy: PolicyName,
    #[command(flatten)]
    pub(crate) room: RoomArgs,
}

/// Serves until the process that has started this one ends.
pub(crate) async fn serve(node: NodeArgs) -> Result<()> {
    let keys = node.room.own_keys()?.context("the nodes of a site share a key")?;
    let config = node.room.builder(Some(keys)).debug_header(DebugHeader::On).build()?;
    let client = redis::Client::open(node.store)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let rules = config.room().context("a room is configured")?.clone();
    let site = SiteOptions::new(
        SiteId::new(node.site),
        escrow(&node.room, node.lease)?,
        node.ledgers,
        SharedKeys::parse(&std::env::var(SITE_KEY)?)?,
    )
    .policy(node.policy.into());
    let site = match node.policy {
        PolicyName::Escrow => site.new_users_per_minute(MINUTE_ROOM, minute(node.lease)?),
        // The limit on new visitors is one of all sites already.
        PolicyName::Counters => site,
    };
    let options = RedisStoreOptions::new().deadline(DEADLINE);
    let store = SiteStore::connect(open, rules, options, site)
        .await
        .map_err(|error| anyhow!("{error}: {:?}", std::error::Error::source(&error)))?;
    let config = config.into_builder().room_store(CountedStore(store), StoreFailure::Wait);
    let room = WaitingRoomLayer::new(config.build()?);
    let listener = TcpListener::bind(node.listen).await?;
    let app = tells_calls(shop::app(room));
    serve_until_end(async { Ok(axum::serve(listener, app).await?) }).await
}

impl NodeArgs {
    /// The arguments of this program that start such a node.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let listen = self.listen.to_string();
        let site = self.site.to_string();
        let lease = humantime::format_duration(self.lease).to_string();
        let ledgers = self.ledgers.join(",");
        let own = ["node", "--listen", &listen, "--store", &self.store, "--site", &site];
        let own = own.into_iter().chain(["--ledgers", &ledgers, "--lease", &lease]);
        let policy = self.policy.to_possible_value();
        let policy = policy.as_ref().map(|policy| policy.get_name());
        let own = own.chain(policy.into_iter().flat_map(|policy| ["--policy", policy]));
        own.map(str::to_owned).chain(self.room.flags()).collect()
    }
}

/// The policy by which the sites share the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// A ledger hands out the slots, and the limit is never exceeded.
    Escrow,
    /// Each site counts new visitors by the minute, after snapshots of all sites.
    Counters,
}

/// The rules of the ledgers for sites with this room.
pub(crate) fn escrow(room: &RoomArgs, lease: Duration) -> Result<EscrowRules, ConfigError> {
    let config = room.config(None)?;
    let session =
        config.room().map(|rules| rules.timing().longest_pass_lifetime()).unwrap_or_default();
    EscrowRules::new().session(session).lease(lease).validate()
}

/// The rules of the ledgers for the limit on new visitors.
pub(crate) fn minute(lease: Duration) -> Result<EscrowRules, ConfigError> {
    EscrowRules::rolling_minute().lease(lease).validate()
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Escrow => Self::Escrow,
            PolicyName::Counters => Self::Counters,
        }
    }
}
