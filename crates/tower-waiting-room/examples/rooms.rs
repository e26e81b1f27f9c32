//! Two rooms on one service: one for the shop, and one with a single slot for its sale.
//!
//! The most specific route wins. Pages that no route covers, such as `/`, need no room.

use std::{error::Error, net::SocketAddr};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tower_waiting_room::{
    WaitingRoomConfig, WaitingRoomLayer,
    routes::{Route, WaitingRooms},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let shop = WaitingRoomConfig::builder("shop").total_active_users(2_000).build()?;
    let sale = WaitingRoomConfig::builder("sale").total_active_users(1).build()?;
    let rooms = WaitingRooms::builder()
        .room([Route::path("/shop/")], WaitingRoomLayer::new(shop))
        .room([Route::path("/shop/sale/")], WaitingRoomLayer::new(sale))
        .build()?;
    let app = Router::new()
        .route("/", get(|| async { "Welcome." }))
        .route("/shop/{*page}", get(|| async { "Everything must go." }))
        .layer(rooms);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
