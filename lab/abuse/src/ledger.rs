//! The ledger of a shop that is a site of several, and the store of this site.

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::{Context, Result};
use cluster::Link;
use tokio::{net::TcpListener, task::JoinSet};
use tower_waiting_room::room::RoomRules;
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_ledger::{
    EscrowRules, SharedKeys, SiteId, SiteOptions, SiteStore,
    model::{Holder, HolderTimes, LedgerServer, MemoryKeeper, ServerKeys},
};
use waiting_room_redis::RedisStoreOptions;

use crate::settings::configured;

/// A ledger in this process, and the server that keeps the room of the site.
#[derive(Debug)]
pub(crate) struct Ledger {
    store: EngineServer,
    pub(crate) address: SocketAddr,
    /// The way of the site to the ledger.
    pub(crate) link: Link,
    _tasks: JoinSet<()>,
}

impl Ledger {
    /// Starts a ledger for the room in this file.
    pub(crate) async fn start(config: &Path) -> Result<Self> {
        let config = configured(config)?;
        let rules = config.room().context("a room is configured")?;
        let engine = Engine::ALL.into_iter().find(|engine| engine.is_installed());
        let engine = engine.context("neither Redis nor Valkey is installed")?;
        let keeper = MemoryKeeper::new(rules.total_active_users, [SITE], escrow(rules));
        let (holder, handle) = Holder::new(rules.name.as_str(), keeper, HolderTimes::default());
        let server = LedgerServer::new([(rules.name.clone(), handle)], ServerKeys::new(key()?));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(holder.run(std::future::pending()));
        tasks.spawn(async move { _ = server.listen(&listener).await });
        let store = EngineServer::start(engine, Persistence::Never)?;
        Ok(Self { store, address, link: Link::to(address, Duration::ZERO)?, _tasks: tasks })
    }

    /// The arguments of the service with which it becomes the site.
    pub(crate) fn arguments(&self) -> [String; 4] {
        [
            "--store".to_owned(),
            self.store.url(),
            "--ledger".to_owned(),
            self.link.address().to_string(),
        ]
    }
}

/// In the service: the store of the site, which reports to the ledger at this address.
pub(crate) async fn join(rules: RoomRules, store: &str, ledger: String) -> Result<SiteStore> {
    let client = redis::Client::open(store)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let site = SiteOptions::new(SITE, escrow(&rules), [ledger], key()?);
    let options = RedisStoreOptions::new().deadline(DEADLINE);
    Ok(SiteStore::connect(open, rules, options, site).await?)
}

fn escrow(rules: &RoomRules) -> EscrowRules {
    EscrowRules::new()
        .session(rules.timing().longest_pass_lifetime())
        .lease(LEASE)
        .heartbeat(LEASE / 10)
}

fn key() -> Result<SharedKeys> {
    Ok(SharedKeys::parse(&"0123456789abcdef".repeat(4))?)
}

/// The time for which the site continues without its ledger.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
const SITE: SiteId = SiteId::new(1);
/// A machine that runs an attacker may be busy for a while.
const DEADLINE: Duration = Duration::from_secs(1);
