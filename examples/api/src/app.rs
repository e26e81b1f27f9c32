//! The router, the layers in front of it, and the server.

#[cfg(test)]
mod tests;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use axum::{
    Router,
    http::{HeaderName, Method, header},
    routing::{get, post},
};
use tokio::{net::TcpListener, signal};
use tower::ServiceBuilder;
use tower_http::cors::{Any, CorsLayer};
use tower_waiting_room::{WaitingRoomLayer, respond::EXPOSED_HEADERS};

use crate::{
    endpoints::{list, log_in, one, write},
    limits::KEY_HEADER,
};

/// The API behind its limits.
///
/// CORS is the outermost layer, so that scripts of other origins can read refusals and their
/// headers like any other response.
pub(crate) fn app(limits: WaitingRoomLayer) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, HeaderName::from_static(KEY_HEADER)])
        .expose_headers(EXPOSED_HEADERS);
    Router::new()
        .route("/quotes", get(list))
        .route("/quotes/{id}", get(one))
        .route("/essays", post(write))
        .route("/login", post(log_in))
        .route("/healthz", get(async || "fine\n"))
        .layer(ServiceBuilder::new().layer(cors).layer(limits))
}

/// Serves until ctrl-c. Each request carries the address of its client, for the limits that use the
/// address as a key.
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

/// Waits for ctrl-c. If the signal handler cannot be installed, waits forever: the server then runs
/// until it is killed.
async fn stop() {
    if signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
