//! A room and a limit by address behind nginx on the same machine, with the setting
//! `proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;`.
//!
//! The address of a client is the last one in the header that is not a trusted proxy, so a client
//! cannot choose it. A network has at most two places in the line of the one slot.

use std::{error::Error, net::SocketAddr};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tower_waiting_room::{
    ClientIp, Quota, RateLimit, TrustedProxies, WaitingRoomConfig, WaitingRoomLayer, room::Shares,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let nginx = TrustedProxies::networks(["127.0.0.0/8", "::1"])?;
    let config = WaitingRoomConfig::builder("shop")
        .client_ip(ClientIp::x_forwarded_for(nginx))
        .rate_limit(RateLimit::per_ip(Quota::per_hour(6)))
        .total_active_users(1)
        .shares(Shares::Limit(2))
        .build()?;
    let app = Router::new()
        .route("/", get(|| async { "Welcome to the shop." }))
        .layer(WaitingRoomLayer::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    // With connect info, even behind a proxy: the layer has to know that the connection is nginx's.
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
