//! A node of a site, which shares one limit with other sites.
//!
//! ```text
//! SITE=1 LISTEN=127.0.0.1:8080 STORE=redis://127.0.0.1 LEDGERS=ledger-1:7400,ledger-2:7400 \
//!     SITES_KEY=sites.key TOKEN_KEY=$(cat token.key) \
//!     cargo run -p waiting-room-ledger --all-features --example site
//! ```

use std::{env, error::Error, fs, net::SocketAddr};

use axum::{Router, routing::get};
use redis::Client;
use tokio::net::TcpListener;
use tower_waiting_room::{
    KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer, room::RoomRules,
};
use waiting_room_ledger::{EscrowRules, SharedKeys, SiteId, SiteOptions, SiteStore};
use waiting_room_redis::RedisStoreOptions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name| env::var(name).map_err(|error| format!("{name}: {error}"));
    let site: u16 = setting("SITE")?.parse()?;

    // The room of the site, which all nodes of the site share.
    let client = Client::open(setting("STORE")?)?;
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };

    // The limits in force are the ledger's; the limits here are only shown. A slot is kept for as
    // long as a pass can last, which is an eighth longer than a session.
    let rules = RoomRules::new("shop", 2).new_users_per_minute(3);
    let escrow = EscrowRules::new().session(rules.timing().longest_pass_lifetime());
    let ledgers = setting("LEDGERS")?.split(',').map(str::to_owned).collect::<Vec<_>>();
    let keys = SharedKeys::parse(&fs::read_to_string(setting("SITES_KEY")?)?)?;
    let options = SiteOptions::new(SiteId::new(site), escrow, ledgers, keys)
        .new_users_per_minute("shop-minute", EscrowRules::rolling_minute());

    let store = SiteStore::connect(open, rules, RedisStoreOptions::new(), options).await?;

    // All sites have the same key for the tokens of visitors, so that a visitor may move from one site
    // to another.
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store, StoreFailure::Wait)
        .keys(KeyRing::new(TokenKey::from_base64(&setting("TOKEN_KEY")?)?))
        .build()?;
    let room = WaitingRoomLayer::new(config);
    let app = Router::new().route("/", get(move || async move { format!("site {site}\n") }));
    let listener = TcpListener::bind(setting("LISTEN")?).await?;
    let app = app.layer(room).into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}
