//! The router, and the layers in front of it.

#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware::{Next, from_fn},
    response::Response,
    routing::{get, post},
};
use tokio::time::sleep;
use tower::ServiceBuilder;
use tower_http::{compression::CompressionLayer, trace::TraceLayer};
use tower_waiting_room::{WaitingRoomLayer, respond::reason_of};
use tracing::Span;

use crate::{
    api::{add_to_cart, by_api, by_form, cart, products},
    goods::add_by_form,
    pages::{home, product},
};

/// The shop behind its waiting room.
///
/// Tracing is the outermost layer, so that it also sees waiting visitors. The room comes before
/// compression: its answers are small, and visitors who wait must not cost CPU time for
/// compression.
pub fn app(room: WaitingRoomLayer) -> Router {
    app_that_works(room, Duration::ZERO)
}

/// The shop behind its waiting room, with pages that take the time `work` to make.
pub fn app_that_works(room: WaitingRoomLayer, work: Duration) -> Router {
    let worked = move |request: Request, next: Next| async move {
        if !work.is_zero() {
            sleep(work).await;
        }
        next.run(request).await
    };
    let layers = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http().on_response(log).on_failure(()))
        .layer(room)
        .layer(CompressionLayer::new());
    Router::new()
        .route("/", get(home))
        .route("/products/{id}", get(product))
        .route("/cart", post(add_by_form))
        .route("/checkout", post(by_form))
        .route("/api/products", get(products))
        .route("/api/cart", get(cart).post(add_to_cart))
        .route("/api/checkout", post(by_api))
        .layer(from_fn(worked))
        // A request for a push stream never arrives here, but axum applies the layers only to routes.
        .route("/waiting-room/events", get(async || StatusCode::NOT_FOUND))
        .route("/healthz", get(async || "fine\n"))
        .layer(layers)
}

/// Logs every response at the same level, with its reason. The 503 that a waiting visitor gets is
/// not a failure.
fn log<B>(response: &Response<B>, latency: Duration, _: &Span) {
    let status = response.status().as_u16();
    let reason = reason_of(response);
    tracing::info!(status, reason = reason.map(tracing::field::display), ?latency, "answered");
}
