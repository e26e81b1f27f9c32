//! The application: one endpoint that computes, and one that does not.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    middleware::from_fn_with_state,
    response::IntoResponse,
    routing::{get, post},
};
use tower_waiting_room::{
    Concurrency, ConfigError, WaitingRoomConfig, WaitingRoomLayer,
    gate::{Discipline, PermitHandle},
};

use crate::{
    order::{self, LetIn, Order},
    pace::{Held, Pace, compute},
    picture,
};

/// The gate in front of the conversions: it runs up to `limit` requests at once, and the others
/// wait in order of arrival.
///
/// # Errors
///
/// The gate does not support this limit, queue or wait.
pub(crate) fn gate(
    limit: u32,
    queue: u32,
    max_wait: Duration,
) -> Result<WaitingRoomLayer, ConfigError> {
    let gate = Concurrency::limit(limit)
        .name(GATE)
        .queue(queue)
        .max_wait(max_wait)
        .discipline(Discipline::Fifo);
    Ok(WaitingRoomLayer::new(WaitingRoomConfig::builder("converter").concurrency(gate).build()?))
}

/// The application, with or without a gate.
pub(crate) fn app(pace: Pace, order: &Arc<Order>, gate: Option<WaitingRoomLayer>) -> Router {
    let inside = Router::new()
        .route(CONVERT, post(convert))
        .with_state((pace, Arc::clone(order)))
        .layer(from_fn_with_state(Arc::clone(order), order::let_in));
    let gated = match gate {
        Some(gate) => inside.layer(gate),
        None => inside,
    };
    gated
        .layer(from_fn_with_state(Arc::clone(order), order::arrive))
        .route(HEALTH, get(async || "fine\n"))
}

/// Converts a picture.
async fn convert(
    State((pace, order)): State<(Pace, Arc<Order>)>,
    Extension(request): Extension<LetIn>,
    permit: Option<Extension<PermitHandle>>,
    source: Bytes,
) -> Result<impl IntoResponse, StatusCode> {
    let held = Held { permit: permit.map(|permit| permit.0), since: request.at, pace };
    let converted = compute(held, move || picture::convert(&source)).await;
    order.finish(request);
    let converted = converted.map_err(|_panic| StatusCode::INTERNAL_SERVER_ERROR)?;
    let picture = converted.map_err(|_unreadable| StatusCode::UNPROCESSABLE_ENTITY)?;
    Ok(([(header::CONTENT_TYPE, "image/jpeg")], picture))
}

/// The name of the gate.
pub(crate) const GATE: &str = "convert";

/// The path of the endpoint that converts pictures.
pub(crate) const CONVERT: &str = "/convert";

/// The path of the health check, which needs no CPU time and is not gated.
pub(crate) const HEALTH: &str = "/healthz";

#[cfg(test)]
mod tests;
