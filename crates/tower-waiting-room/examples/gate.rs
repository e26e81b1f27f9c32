//! A concurrency gate. Up to two requests run at a time, two more wait for up to five seconds, and a
//! fifth request gets status 429 at once.
//!
//! A request holds its permit until the last byte of its response has been sent.

use std::{error::Error, time::Duration};

use axum::{Router, routing::post};
use tokio::net::TcpListener;
use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let gate = Concurrency::limit(2).queue(2).max_wait(Duration::from_secs(5));
    let config = WaitingRoomConfig::builder("converter").concurrency(gate).build()?;
    let app = Router::new()
        .route("/upper", post(|text: String| async move { text.to_uppercase() }))
        .layer(WaitingRoomLayer::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
