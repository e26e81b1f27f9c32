//! Everything that one run needs: a store, the way to it, the nodes, and the balancer.
//!
//! ```text
//!                       ┌─► node ─┐
//!  crowd ══► balancer ══╪═► node ═╪══► link ══► store ──► link ──► replica
//!                       ├─► node ─┤
//!                       └─► node ─┘
//! ```

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail};
use rand::RngExt;
use redis::{Client, aio::MultiplexedConnection};
use shop::{RecoveryName, RoomArgs};
use tokio::time::sleep;
use waiting_room_engines::{EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::{
    balancer::Balancer,
    cli::Plan,
    link::Link,
    process::{Node, Recipe},
};

/// A cluster that serves. All its processes end when it is dropped.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) balancer: Balancer,
    pub(crate) nodes: Vec<Node>,
    /// What all nodes reach the store by.
    pub(crate) link: Link,
    pub(crate) store: EngineServer,
    pub(crate) replica: Option<Replica>,
}

/// A server that follows the store, and how it hears of it.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) server: EngineServer,
    pub(crate) link: Link,
}

impl Cluster {
    /// Starts all of it.
    pub(crate) async fn start(plan: &Plan, kept: Persistence, replicated: bool) -> Result<Self> {
        let engine = plan.engine.into();
        let store = match (kept, replicated) {
            // A replica is to follow at once, not when others may have asked as well.
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
        let recipe = Recipe {
            store: format!("redis://{}", link.address()),
            room,
            key: random_key(),
            deadline: plan.deadline,
            work: plan.work,
        };
        let mut nodes = Vec::new();
        for _ in 0..plan.nodes {
            nodes.push(Node::start(recipe.clone()).await?);
        }
        let addresses: Vec<_> = nodes.iter().map(Node::address).collect();
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

/// Where a server listens.
pub(crate) fn address_of(server: &EngineServer) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], server.port()))
}

/// A connection to a server, past every link.
pub(crate) async fn connect(server: &EngineServer) -> Result<MultiplexedConnection> {
    Ok(Client::open(server.url())?.get_multiplexed_async_connection().await?)
}

/// Opens the room before the nodes come, and says that nothing was lost: it was never there.
async fn open_room(store: &EngineServer, room: &RoomArgs) -> Result<()> {
    let room = RoomArgs { recovery: Some(RecoveryName::Admit), ..room.clone() };
    let rules = room.config(None)?.room().context("there is a room")?.clone();
    let options = RedisStoreOptions::new();
    let opened = RedisStore::with_connection(connect(store).await?, rules, options).await;
    opened.context("the room cannot be opened")?;
    Ok(())
}

/// 32 random bytes in base64.
fn random_key() -> String {
    let mut chance = rand::make_rng::<rand::rngs::StdRng>();
    let letter = |_| char::from(BASE64[chance.random_range(0..BASE64.len())]);
    // The last of the 43 letters has bits left over, which are zero.
    (0..42).map(letter).chain(['A']).collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A replica of an empty store follows within a moment.
const SYNC_LOOK: Duration = Duration::from_millis(50);
const SYNC_LOOKS: u32 = 200;
