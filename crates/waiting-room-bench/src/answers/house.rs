//! The process that is asked: three servers on one thread of one core.

use std::{
    io::{self, Read, Write},
    process, thread,
    time::Duration,
};

use anyhow::{Result, anyhow};
use axum::{Router, routing::get};
use serde::{Deserialize, Serialize};
use tokio::{net::TcpListener, task::JoinSet};
use tower_waiting_room::{
    ManualClock, MemoryStore, Store, StoreFailure, Timestamp, WaitingRoomLayer,
};

use crate::{
    measure::pin_to,
    setting::{config, runtime, token},
};

/// What one must know to ask the servers. The process says it in one line, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Address {
    /// The port of the application alone.
    pub(super) hello: u16,
    /// The port of the application behind a full room.
    pub(super) room: u16,
    /// The port of the application behind a full room whose clock stands still.
    pub(super) still: u16,
    /// The pass that fills the room.
    pub(super) pass: String,
    /// A ticket of the room that is shown too early for as long as it is measured.
    pub(super) early: String,
    /// A ticket of the room that stands still which is due.
    pub(super) due: String,
}

/// Serves until standard input ends.
pub(crate) fn serve() -> Result<()> {
    pin_to(0)?;
    thread::spawn(|| {
        // Whoever started this has gone when there is nothing more to read.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
    runtime().block_on(async {
        let (room, pass, early) = full_room().await?;
        let (still, due) = still_room().await?;
        let mut servers = JoinSet::new();
        let address = Address {
            hello: listen(&mut servers, hello()).await?,
            room: listen(&mut servers, hello().layer(room)).await?,
            still: listen(&mut servers, hello().layer(still)).await?,
            pass,
            early,
            due,
        };
        writeln!(io::stdout(), "{}", serde_json::to_string(&address)?)?;
        match servers.join_next().await {
            Some(ended) => Ok(ended??),
            None => Err(anyhow!("there are three servers")),
        }
    })
}

/// A full room on the machine's clock; its pass, and a ticket that is not due for ten minutes.
async fn full_room() -> Result<(WaitingRoomLayer, String, String)> {
    let longest = Duration::from_secs(10 * 60);
    let config = config().refresh_interval(longest).place_retention(3 * longest).build()?;
    let layer = WaitingRoomLayer::new(config);
    let (pass, ticket) = (token(&layer).await, token(&layer).await);
    Ok((layer, pass, ticket))
}

/// A full room whose clock stands where the ticket is due.
async fn still_room() -> Result<(WaitingRoomLayer, String)> {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let config = config().build()?;
    let store = MemoryStore::with_clock(config.rules().clone(), clock.clone())?;
    let interval = store.rules().current_refresh_interval();
    let layer = WaitingRoomLayer::with_store(config, store, StoreFailure::Wait);
    let (_, ticket) = (token(&layer).await, token(&layer).await);
    clock.advance(2 * interval);
    Ok((layer, ticket))
}

async fn listen(servers: &mut JoinSet<io::Result<()>>, app: Router) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    servers.spawn(axum::serve(listener, app).into_future());
    Ok(port)
}

/// The application.
fn hello() -> Router {
    Router::new().route("/", get(|| async { "Hello, world!" }))
}
