//! The router, and the layers in front of it.

use axum::{
    Router,
    http::{HeaderName, Method, header},
    routing::{get, post},
};
use tower::ServiceBuilder;
use tower_http::cors::{Any, CorsLayer};
use tower_waiting_room::{EXPOSED_HEADERS, WaitingRoomLayer};

use crate::{essays, keys::KEY_HEADER, login, quotes};

/// The API behind its limits.
///
/// CORS stands outermost: scripts of other origins then read a refusal like any other answer, and
/// its headers too.
pub(crate) fn app(limits: WaitingRoomLayer) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, HeaderName::from_static(KEY_HEADER)])
        .expose_headers(EXPOSED_HEADERS);
    Router::new()
        .route("/quotes", get(quotes::list))
        .route("/quotes/{id}", get(quotes::one))
        .route("/essays", post(essays::write))
        .route("/login", post(login::log_in))
        .route("/healthz", get(async || "fine\n"))
        .layer(ServiceBuilder::new().layer(cors).layer(limits))
}

#[cfg(test)]
mod tests;
