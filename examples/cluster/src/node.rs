//! One node: a shop in a process of its own.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use shop::RoomArgs;
use tokio::{
    io::{AsyncReadExt, stdin},
    net::TcpListener,
    select,
};
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
/// Prints [`READY`] to standard output once it is ready.
pub(crate) async fn serve(node: NodeArgs) -> Result<()> {
    let keys = node.room.own_keys()?.context("nodes share a key")?;
    let config = node.room.builder(Some(keys)).debug_header(DebugHeader::On).build()?;
    let client = redis::Client::open(node.store)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let options = RedisStoreOptions::new().deadline(node.deadline);
    let store =
        RedisStore::connect(open, config.room().expect("a room is configured").clone(), options)
            .await
            .map_err(|error| anyhow!("{error}: {:?}", std::error::Error::source(&error)))?;
    let room = WaitingRoomLayer::with_store(config, store, StoreFailure::Wait);
    let listener = TcpListener::bind(node.listen).await?;
    println!("{READY}");
    select! {
        served = async { axum::serve(listener, shop::app_that_works(room, node.work)).await } => Ok(served?),
        _ = async { stdin().read(&mut [0]).await } => Ok(()),
    }
}

/// The line that a node prints when it is ready.
pub(crate) const READY: &str = "ready";
