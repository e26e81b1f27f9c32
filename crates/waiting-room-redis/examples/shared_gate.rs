//! One gate for all nodes: at most two requests run at a time on all of them together.
//!
//! Each node has a share of this total, and renews it four times a second. Without the server, a node
//! with `GateStoreFailure::Refuse` runs no new request once its lease of three seconds has ended.

use std::{env, error::Error, num::NonZeroU32};

use axum::{Router, routing::post};
use tokio::net::TcpListener;
use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_redis::{GateShare, GateShareOptions, GateStoreFailure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = redis::Client::open(env::var("REDIS_URL")?)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let total = NonZeroU32::new(2).ok_or("the total is zero")?;
    let options = GateShareOptions::new(total, GateStoreFailure::Refuse);
    let share = GateShare::connect(open, "converter", options).await?;
    let gate = Concurrency::shared(share).queue(2);
    let config = WaitingRoomConfig::builder("converter").concurrency(gate).build()?;
    let app = Router::new()
        .route("/upper", post(|text: String| async move { text.to_uppercase() }))
        .layer(WaitingRoomLayer::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
