//! A waiting room with one slot: a second visitor, such as a private window, gets the waiting page.
//!
//! The handler of `/buy` ends the session, which lets the next visitor in. Without it, the slot is
//! free a minute after the last request. The layer covers only the routes that are added before it,
//! so requests to `/health` never wait.

use std::{error::Error, net::SocketAddr, time::Duration};

use axum::{
    Router,
    routing::{get, post},
};
use tokio::net::TcpListener;
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, room::Visit};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .new_users_per_minute(60)
        .session_duration(Duration::from_secs(60))
        .build()?;
    let app = Router::new()
        .route("/", get(|| async { "Welcome to the shop." }))
        .route("/buy", post(buy))
        .layer(WaitingRoomLayer::new(config))
        .route("/health", get(|| async { "up" }));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    // With connect info: the room limits the places of each network.
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}

async fn buy(visit: Option<Visit>) -> &'static str {
    // There is no visit while the room is suspended.
    if let Some(visit) = visit {
        visit.end();
    }
    "Thank you."
}
