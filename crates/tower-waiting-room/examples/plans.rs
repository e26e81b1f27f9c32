//! Limits by account and by plan. A middleware outside of the layer finds the account.
//!
//! `key-1` and `key-2` belong to one account, which may send 3 requests an hour. The account of
//! `key-3` pays for 6. A request without a known key is refused.

use std::{error::Error, net::SocketAddr};

use axum::{Router, extract::Request, middleware::map_request, routing::get};
use tokio::net::TcpListener;
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    request::{MissingKey, RequestHead},
};

const ACCOUNTS: [(&str, &str); 3] = [("key-1", "acme"), ("key-2", "acme"), ("key-3", "globex")];

#[derive(Clone, Copy)]
struct Account(&'static str);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let key = Key::from_fn("account", |request| Some(account(request)?.0.to_owned()));
    let limit = RateLimit::new("account", Quota::per_hour(3), key)
        .tier(Quota::per_hour(6), |request| account(request).is_some_and(|of| of.0 == "globex"))
        .missing_key(MissingKey::Refuse);
    let config = WaitingRoomConfig::builder("api").rate_limit(limit).build()?;
    let app = Router::new().route("/", get(|| async { "Hello." }));
    let app = app.layer(WaitingRoomLayer::new(config)).layer(map_request(log_in));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}

async fn log_in(mut request: Request) -> Request {
    let given = request.headers().get("x-api-key").and_then(|key| key.to_str().ok());
    if let Some((_, account)) = ACCOUNTS.iter().find(|(key, _)| given == Some(key)) {
        request.extensions_mut().insert(Account(account));
    }
    request
}

fn account(request: &RequestHead<'_>) -> Option<Account> {
    request.extensions().get().copied()
}
