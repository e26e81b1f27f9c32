//! A room that is left out if the variable `NO_ROOM` is set.
//!
//! tower's `option_layer` needs a layer that answers in axum's own body, hence `for_axum`.

use std::{env, error::Error, net::SocketAddr};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tower::util::option_layer;
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = WaitingRoomConfig::builder("shop").total_active_users(1).build()?;
    let has_room = env::var_os("NO_ROOM").is_none();
    let room = has_room.then(|| WaitingRoomLayer::new(config).for_axum());
    let app = Router::new()
        .route("/", get(|| async { "Welcome to the shop." }))
        .layer(option_layer(room));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
