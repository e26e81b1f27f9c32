//! A sale that opens at a fixed time, which is the argument of the program.
//!
//! ```sh
//! cargo run -p tower-waiting-room --example event -- 2026-12-24T10:00:00+01:00
//! ```
//!
//! In the half hour before the start, visitors get their places, and see how long it takes. For two
//! hours from the start, the room has the limits of the event.

use std::{env, error::Error, net::SocketAddr, time::Duration};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tower_waiting_room::{
    WaitingRoomConfig, WaitingRoomLayer, room::event::Event, time::Timestamp,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let opens: Timestamp = env::args().nth(1).ok_or("usage: event <time>")?.parse()?;
    let doors = Event::new("doors", opens, opens + Duration::from_secs(2 * 3_600))
        .prequeue_start(opens.before(Duration::from_secs(30 * 60)))
        .limits(500, 100);
    let config = WaitingRoomConfig::builder("shop").total_active_users(200).event(doors).build()?;
    let app = Router::new()
        .route("/", get(|| async { "Welcome to the sale." }))
        .layer(WaitingRoomLayer::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
