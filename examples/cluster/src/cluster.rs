//! The processes of one run: a store, the link to it, the nodes, and the balancer.
//!
//! ```text
//!                       ┌─► node ─┐
//!  crowd ══► balancer ══╪═► node ═╪══► link ══► store ──► link ──► replica
//!                       ├─► node ─┤
//!                       └─► node ─┘
//! ```

use std::{net::SocketAddr, time::Duration};

use ::cluster::{Balancer, Link, Process, free_address, random_key};
use anyhow::{Context, Result, bail};
use redis::{Client, aio::MultiplexedConnection};
use shop::{RecoveryName, RoomArgs};
use tokio::time::sleep;
use waiting_room_engines::{EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::{cli::Plan, node::NodeArgs};

/// A running cluster. All its processes end when this is dropped.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) balancer: Balancer,
    pub(crate) nodes: Vec<Process>,
    /// The link through which all nodes reach the store.
    pub(crate) link: Link,
    pub(crate) store: EngineServer,
    pub(crate) replica: Option<Replica>,
}

/// A replica of the store, and the link over which it receives the replication stream.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) server: EngineServer,
    pub(crate) link: Link,
}

impl Cluster {
    /// Starts all processes, and waits until they are ready.
    pub(crate) async fn start(plan: &Plan, kept: Persistence, replicated: bool) -> Result<Self> {
        let engine = plan.engine.into();
        let store = match (kept, replicated) {
            // By default, a store delays a full synchronization so that several replicas can share
            // it. The only replica need not wait for that.
            (_, true) => EngineServer::start_with(engine, &["--repl-diskless-sync-delay", "0"])?,
            (kept, false) => EngineServer::start(engine, kept)?,
        };
        let room = plan.room();
        open_room(&store, &room).await?;
        let link = Link::to(address_of(&store), plan.round_trip)?;
        let replica = match replicated {
            true => Some(Replica::of(&store).await?),
            false => None,
        };
        let key = random_key();
        let (mut nodes, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..plan.nodes {
            let listen = free_address()?;
            let node = NodeArgs {
                listen,
                store: format!("redis://{}", link.address()),
                deadline: plan.deadline,
                work: plan.work,
                room: room.clone(),
            };
            let environment = vec![("SHOP_KEY", key.clone())];
            nodes.push(Process::start(node.arguments(), environment).await?);
            addresses.push(listen);
        }
        let balancer = Balancer::start(&addresses).await?;
        Ok(Self { balancer, nodes, link, store, replica })
    }
}

impl Replica {
    async fn of(store: &EngineServer) -> Result<Self> {
        let link = Link::to(address_of(store), Duration::ZERO)?;
        let follows = format!("127.0.0.1 {}", link.address().port());
        let server = EngineServer::start_with(store.engine(), &["--replicaof", &follows])?;
        let replica = Self { server, link };
        let mut connection = connect(&replica.server).await?;
        for _ in 0..SYNC_LOOKS {
            let said: String =
                redis::cmd("INFO").arg("replication").query_async(&mut connection).await?;
            if said.contains("master_link_status:up") {
                return Ok(replica);
            }
            sleep(SYNC_LOOK).await;
        }
        bail!("the replica does not follow the store")
    }
}

/// The address on which a server listens.
pub(crate) fn address_of(server: &EngineServer) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], server.port()))
}

/// Connects directly to a server, without a link.
pub(crate) async fn connect(server: &EngineServer) -> Result<MultiplexedConnection> {
    Ok(Client::open(server.url())?.get_multiplexed_async_connection().await?)
}

/// Opens the room before the nodes start, with the recovery `admit`: a new store has lost no state.
async fn open_room(store: &EngineServer, room: &RoomArgs) -> Result<()> {
    let room = RoomArgs { recovery: Some(RecoveryName::Admit), ..room.clone() };
    let rules = room.config(None)?.room().context("there is a room")?.clone();
    let options = RedisStoreOptions::new();
    let opened = RedisStore::with_connection(connect(store).await?, rules, options).await;
    opened.context("the room cannot be opened")?;
    Ok(())
}

/// How often the replication is checked, and for how many times. A replica of an empty store is in
/// sync within moments.
const SYNC_LOOK: Duration = Duration::from_millis(50);
const SYNC_LOOKS: u32 = 200;
