//! A store that follows another one, and takes its place without the latest writes.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use redis::{Client, aio::MultiplexedConnection};
use tokio::time::sleep;
use waiting_room_engines::EngineServer;

use crate::link::{Link, Weather};

/// A replica of a store, and the link over which it receives the replication stream.
#[derive(Debug)]
pub struct Replica {
    server: EngineServer,
    link: Link,
}

impl Replica {
    /// The options of a store that has one replica. By default, a store delays a full
    /// synchronization so that several replicas can share it.
    pub const OPTIONS_OF_STORE: [&str; 4] =
        ["--repl-diskless-sync-delay", "0", "--appendonly", "no"];

    /// Starts a replica, and waits until it follows the store.
    ///
    /// # Errors
    ///
    /// The replica does not start, or does not follow.
    pub async fn of(store: &EngineServer) -> Result<Self> {
        let link = Link::to(address_of(store), Duration::ZERO)?;
        let follows = format!("127.0.0.1 {}", link.address().port());
        let options = ["--replicaof", &follows, "--appendonly", "no"];
        let server = EngineServer::start_with(store.engine(), &options)?;
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

    /// The address on which the replica listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address_of(&self.server)
    }

    /// From now on, the replica receives nothing, although its connection stays open.
    pub fn falls_behind(&self) {
        self.link.set(Weather::Still);
    }

    /// The number of bytes that the store has written and the replica has not received.
    ///
    /// # Errors
    ///
    /// A server does not answer, or the replica has received everything, so that nothing can be lost.
    pub async fn lag(&self, store: &EngineServer) -> Result<u64> {
        let mut store = connect(store).await?;
        let mut replica = connect(&self.server).await?;
        let written = offset(&mut store, "master_repl_offset:").await?;
        let heard = offset(&mut replica, "slave_repl_offset:").await?;
        ensure!(heard < written, "the replica has received everything, so nothing can be lost");
        Ok(written - heard)
    }

    /// Lets the replica take over.
    ///
    /// # Errors
    ///
    /// The replica does not answer.
    pub async fn promote(&self) -> Result<()> {
        let mut replica = connect(&self.server).await?;
        Ok(redis::cmd("REPLICAOF").arg("NO").arg("ONE").query_async(&mut replica).await?)
    }
}

/// The address on which a server listens.
#[must_use]
pub fn address_of(server: &EngineServer) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], server.port()))
}

/// Connects directly to a server, without a link.
///
/// # Errors
///
/// The server does not answer.
pub async fn connect(server: &EngineServer) -> Result<MultiplexedConnection> {
    Ok(Client::open(server.url())?.get_multiplexed_async_connection().await?)
}

/// The replication offset in bytes: what the store has written, or what the replica has received.
async fn offset(server: &mut MultiplexedConnection, name: &str) -> Result<u64> {
    let said: String = redis::cmd("INFO").arg("replication").query_async(server).await?;
    let line = said.lines().find_map(|line| line.strip_prefix(name));
    Ok(line.with_context(|| format!("the server does not report {name}"))?.trim().parse()?)
}

/// How often the replication is checked, and for how many times. A replica of an empty store is in
/// sync within moments.
const SYNC_LOOK: Duration = Duration::from_millis(50);
const SYNC_LOOKS: u32 = 200;
