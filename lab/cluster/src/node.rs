//! One node: a shop in a process of its own.

use std::{net::SocketAddr, time::Duration};

use ::cluster::serve_until_end;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use shop::RoomArgs;
use tokio::net::TcpListener;
use tower_waiting_room::{StoreFailure, WaitingRoomLayer, config::DebugHeader};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

/// The settings of a node.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeArgs {
    /// The address to serve on.
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// The URL of the store.
    #[arg(long)]
    pub(crate) store: String,
    /// The deadline of a decision by the store.
    #[arg(long, value_parser = shop::duration)]
    pub(crate) deadline: Duration,
    /// The time that it takes to make a page.
    #[arg(long, value_parser = shop::duration)]
    pub(crate) work: Duration,
    #[command(flatten)]
    pub(crate) room: RoomArgs,
}

/// Serves until standard input is closed.
///
/// Says that it is ready on standard output.
pub(crate) async fn serve(node: NodeArgs) -> Result<()> {
    let keys = node.room.own_keys()?.context("nodes share a key")?;
    let config = node.room.builder(Some(keys)).debug_header(DebugHeader::On).build()?;
    let client = redis::Client::open(node.store)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let options = RedisStoreOptions::new().deadline(node.deadline);
    let rules = config.room().context("a room is configured")?.clone();
    let store = RedisStore::connect(open, rules, options)
        .await
        .map_err(|error| anyhow!("{error}: {:?}", std::error::Error::source(&error)))?;
    let config = config.into_builder().room_store(store, StoreFailure::Wait).build()?;
    let room = WaitingRoomLayer::new(config);
    let listener = TcpListener::bind(node.listen).await?;
    let app = shop::app_that_works(room, node.work);
    serve_until_end(async { Ok(axum::serve(listener, app).await?) }).await
}

impl NodeArgs {
    /// The arguments of this program that start such a node.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let listen = self.listen.to_string();
        let [deadline, work] = [self.deadline, self.work]
            .map(|duration| humantime::format_duration(duration).to_string());
        let own = ["node", "--listen", &listen, "--store", &self.store, "--deadline", &deadline];
        let own = own.into_iter().chain(["--work", &work]).map(str::to_owned);
        own.chain(self.room.flags()).collect()
    }
}
