//! One room and its rate limits for all nodes. The nodes also share the key that seals the cookies.
//!
//! ```sh
//! export REDIS_URL=redis://127.0.0.1 WAITING_ROOM_KEY=$(openssl rand -base64 32)
//! cargo run -p waiting-room-redis --example shared_room    # in two terminals
//! ```

use std::{env, error::Error, net::SocketAddr};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tower_waiting_room::{
    KeyRing, Quota, RateLimit, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer,
    rate::RateStoreFailure, room::RoomRules,
};
use waiting_room_redis::{RedisLimits, RedisStore, RedisStoreOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = redis::Client::open(env::var("REDIS_URL")?)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let key = TokenKey::from_base64(&env::var("WAITING_ROOM_KEY")?)?;
    let limits = RedisLimits::connect(open.clone(), "shop", RedisStoreOptions::new()).await?;
    let rules = RoomRules::new("shop", 2);
    let store = RedisStore::connect(open, rules, RedisStoreOptions::new()).await?;
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store, StoreFailure::Wait)
        .keys(KeyRing::new(key))
        .rate_limit(RateLimit::per_ip(Quota::per_hour(6)))
        .rate_store(limits, RateStoreFailure::Admit)
        .build()?;
    let layer = WaitingRoomLayer::new(config);
    let app = Router::new().route("/", get(|| async { "Welcome to the shop." })).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
