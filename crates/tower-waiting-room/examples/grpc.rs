//! A limit in front of a tonic server.
//!
//! A client that exceeds its limit gets the status `RESOURCE_EXHAUSTED`, with `RetryInfo` and the
//! pushback metadata that gRPC libraries obey. Replace the health service with your own.
//!
//! ```sh
//! cargo run -p tower-waiting-room --features tonic --example grpc
//! ```

use std::error::Error;

use tonic::transport::{Server, server::TcpIncoming};
use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = WaitingRoomConfig::builder("api")
        .rate_limit(RateLimit::per_ip(Quota::per_hour(3)))
        .build()?;
    let (_reporter, health) = tonic_health::server::health_reporter();
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?)?;
    println!("http://{}", incoming.local_addr()?);
    let server = Server::builder().layer(WaitingRoomLayer::new(config)).add_service(health);
    Ok(server.serve_with_incoming(incoming).await?)
}
