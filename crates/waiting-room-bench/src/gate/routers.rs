//! Applications behind gates: ours, and the limits of others.

use std::{sync::Arc, time::Duration};

use axum::{Router, error_handling::HandleErrorLayer};
use http::StatusCode;
use tokio::sync::Semaphore;
use tower::{
    ServiceBuilder, limit::GlobalConcurrencyLimitLayer, load_shed::LoadShedLayer,
    timeout::TimeoutLayer,
};
use tower_resilience_bulkhead::{BulkheadConfigBuilder, BulkheadLayer};
use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer};

/// Behind our layer, with this gate alone.
pub(super) fn ours(app: Router, gate: Concurrency) -> Router {
    let config = WaitingRoomConfig::builder("shop").concurrency(gate);
    app.layer(WaitingRoomLayer::new(config.build().expect("the config is right")))
}

/// Behind tower's limit, with which everybody waits who comes.
pub(super) fn tower(app: Router, limit: u32) -> Router {
    app.layer(limit_of(limit))
}

/// The same, with which nobody waits.
pub(super) fn shedding(app: Router, limit: u32) -> Router {
    app.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(failed))
            .layer(LoadShedLayer::new())
            .layer(limit_of(limit)),
    )
}

/// The same, with which everything has to be over after so long.
pub(super) fn timing_out(app: Router, limit: u32, after: Duration) -> Router {
    let timeout = TimeoutLayer::new(after);
    app.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(failed))
            .layer(timeout)
            .layer(limit_of(limit)),
    )
}

/// Behind the bulkhead of tower-resilience, as its options say.
pub(super) fn bulkhead(
    app: Router,
    limit: u32,
    options: fn(BulkheadConfigBuilder) -> BulkheadConfigBuilder,
) -> Router {
    let builder = BulkheadLayer::builder().max_concurrent_calls(count(limit));
    let bulkhead = options(builder).build().expect("the limit is not zero");
    app.layer(ServiceBuilder::new().layer(HandleErrorLayer::new(failed)).layer(bulkhead))
}

fn limit_of(limit: u32) -> GlobalConcurrencyLimitLayer {
    GlobalConcurrencyLimitLayer::with_semaphore(Arc::new(Semaphore::new(count(limit))))
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).expect("limits are small")
}

/// What axum needs where a layer can fail.
async fn failed<E>(_: E) -> StatusCode {
    StatusCode::SERVICE_UNAVAILABLE
}
