//! Rate limits for a login, for each API key, for each address, and for all requests together.
//!
//! A request is charged against all limits that apply to it, or against none. The fourth POST to
//! `/login` within an hour gets status 429 and `Retry-After`, and leaves the other limits alone.
//!
//! ```sh
//! cargo run -p tower-waiting-room --example limits
//! ```

use std::{error::Error, net::SocketAddr};

use axum::{
    Router,
    http::Method,
    routing::{get, post},
};
use tokio::net::TcpListener;
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer, request::MissingKey,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let login = RateLimit::new("login", Quota::per_hour(3), Key::address());
    let api_key = RateLimit::new("api_key", Quota::per_hour(3), Key::header("x-api-key"));
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(login.methods([Method::POST]).path("/login"))
        .rate_limit(api_key.missing_key(MissingKey::Bypass))
        .rate_limit(RateLimit::per_ip(Quota::per_hour(360).burst(5)))
        .rate_limit(RateLimit::global(Quota::per_second(500)))
        .build()?;
    let app = Router::new()
        .route("/", get(|| async { "Hello." }))
        .route("/login", post(|| async { "Welcome back." }))
        .layer(WaitingRoomLayer::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    // With connect info: a limit by address needs the addresses of clients.
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
