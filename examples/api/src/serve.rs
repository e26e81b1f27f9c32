//! Serves the API until somebody says stop.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use axum::Router;
use tokio::{net::TcpListener, signal};

/// Serves until ctrl-c, with the address of each client for those limits that go by it.
pub(crate) async fn serve(app: Router, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    println!("the API is on {url}; ctrl-c ends it. Try:\n");
    println!("  curl -i {url}/quotes");
    println!("  curl -i -X POST -H 'x-api-key: gold-demo' '{url}/essays?words=100'");
    println!("  curl -i {url}/login --json '{{\"name\": \"ann\", \"password\": \"guess\"}}'\n");
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(stop()).await
}

/// Waits for ctrl-c. Without a way to be told, it serves until it is killed.
async fn stop() {
    if signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
