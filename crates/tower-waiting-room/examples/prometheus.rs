//! Metrics at `/metrics`, to which the layer does not apply.
//!
//! The recorder is installed before the first request, and `record` updates the gauges before each
//! scrape. The upkeep of the exporter, in a task, bounds the memory of the histograms.
//!
//! ```sh
//! cargo run -p tower-waiting-room --features metrics --example prometheus
//! ```

use std::{error::Error, net::SocketAddr, time::Duration};

use axum::{Router, routing::get};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::{net::TcpListener, time::interval};
use tower_waiting_room::{Concurrency, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let prometheus = PrometheusBuilder::new().install_recorder()?;
    let exporter = prometheus.clone();
    tokio::spawn(async move {
        let mut every = interval(Duration::from_secs(5));
        loop {
            every.tick().await;
            exporter.run_upkeep();
        }
    });
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::per_ip(Quota::per_hour(2)))
        .concurrency(Concurrency::limit(64))
        .build()?;
    let layer = WaitingRoomLayer::new(config);
    let handle = layer.handle();
    let metrics = get(move || async move {
        handle.record().await;
        prometheus.render()
    });
    let api = Router::new().route("/", get(|| async { "Hello." })).layer(layer);
    let app = api.route("/metrics", metrics);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
