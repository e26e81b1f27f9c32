//! The processes of one run: a store, the link to it, the nodes, and the balancer.
//!
//! ```text
//!                       ┌─► node ─┐
//!  crowd ══► balancer ══╪═► node ═╪══► link ══► store ──► link ──► replica
//!                       ├─► node ─┤
//!                       └─► node ─┘
//! ```

use ::cluster::{Balancer, Link, Process, Replica, address_of, connect, free_address, random_key};
use anyhow::{Context, Result};
use shop::{RecoveryName, RoomArgs};
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

impl Cluster {
    /// Starts all processes, and waits until they are ready.
    pub(crate) async fn start(plan: &Plan, kept: Persistence, replicated: bool) -> Result<Self> {
        let engine = plan.engine.into();
        let store = match (kept, replicated) {
            (_, true) => EngineServer::start_with(engine, &Replica::OPTIONS_OF_STORE)?,
            (kept, false) => EngineServer::start(engine, kept)?,
        };
        let room = plan.room();
        open_room(&store, &room).await?;
        let link = Link::to(address_of(&store), plan.round_trip)?;
        let replica = if replicated { Some(Replica::of(&store).await?) } else { None };
        let key = random_key();
        let mut nodes = Vec::new();
        let mut addresses = Vec::new();
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

/// Opens the room before the nodes start, with the recovery `admit`: a new store has lost no state.
async fn open_room(store: &EngineServer, room: &RoomArgs) -> Result<()> {
    let room = RoomArgs { recovery: Some(RecoveryName::Admit), ..room.clone() };
    let rules = room.config(None)?.room().context("there is a room")?.clone();
    let options = RedisStoreOptions::new();
    let opened = RedisStore::with_connection(connect(store).await?, rules, options).await;
    opened.context("the room cannot be opened")?;
    Ok(())
}
