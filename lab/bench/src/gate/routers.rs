//! Applications behind gates, ours and those of others, and requests that they admit at once.

use std::sync::Arc;

use axum::{Router, error_handling::HandleErrorLayer};
use http::StatusCode;
use tokio::sync::Semaphore;
use tower::{
    ServiceBuilder, layer::layer_fn, limit::GlobalConcurrencyLimitLayer, load_shed::LoadShedLayer,
    timeout::TimeoutLayer,
};
use tower_resilience_bulkhead::{BulkheadConfigBuilder, BulkheadLayer};
use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer, gate::ReleaseAt};

use super::sources::{ENOUGH, LONG};
use crate::{
    case::{Case, Group, Repeat},
    requests::{Template, drive_router, hello},
    services::{Deciding, Forwarding},
};

/// Applies our layer, with only this gate.
pub(crate) fn ours(app: Router, gate: Concurrency) -> Router {
    let config = WaitingRoomConfig::builder("shop").concurrency(gate);
    app.layer(WaitingRoomLayer::new(config.build().expect("the config is right")).for_axum())
}

/// Applies tower's limit, at which every request waits.
pub(crate) fn tower(app: Router, limit: u32) -> Router {
    app.layer(limit_of(limit))
}

/// Applies tower's limit with load shedding, so that no request waits.
pub(super) fn shedding(app: Router, limit: u32) -> Router {
    app.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(failed))
            .layer(LoadShedLayer::new())
            .layer(limit_of(limit)),
    )
}

/// Applies tower's limit with load shedding, and a timeout for the request.
pub(crate) fn shedding_and_timing_out(app: Router) -> Router {
    app.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(failed))
            .layer(LoadShedLayer::new())
            .layer(limit_of(ENOUGH))
            .layer(TimeoutLayer::new(LONG)),
    )
}

/// Applies the bulkhead of tower-resilience, with these options.
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

/// Handles the error of a layer, as axum requires.
async fn failed<E>(_: E) -> StatusCode {
    StatusCode::SERVICE_UNAVAILABLE
}

/// The bare router (the floor), two layers that do nothing, ours, and others.
pub(crate) const ADMITTED: Group = Group::new(
    "gate-admitted",
    "Admitted by a gate, through axum's Router::layer",
    &[
        Case { name: "bare Router (the floor)", set_up: || sent_to(hello()) },
        Case {
            name: "+ a layer that forwards",
            set_up: || sent_to(hello().layer(layer_fn(Forwarding))),
        },
        Case {
            name: "+ a layer that decides, then forwards",
            set_up: || sent_to(hello().layer(layer_fn(Deciding))),
        },
        Case { name: "+ ours", set_up: || sent_to(ours(hello(), limit())) },
        Case { name: "+ ours, held to the head", set_up: || sent_to(ours(hello(), to_head())) },
        Case { name: "+ tower's limit", set_up: || sent_to(tower(hello(), ENOUGH)) },
        Case { name: "+ tower's limit, LoadShed", set_up: || sent_to(shedding(hello(), ENOUGH)) },
        Case {
            name: "+ tower-resilience bulkhead",
            set_up: || sent_to(bulkhead(hello(), ENOUGH, |options| options)),
        },
    ],
);

/// Returns a gate with a permit for every request.
pub(crate) fn limit() -> Concurrency {
    Concurrency::limit(ENOUGH)
}

fn to_head() -> Concurrency {
    limit().release_at(ReleaseAt::Head)
}

fn sent_to(router: Router) -> Repeat {
    drive_router(router, Template::new(["other=1"]).with_peer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_allocates_at_most_five_times_more_than_a_deciding_layer() {
        let of = |name| ADMITTED.case(name).expect("it is in the group").allocations();
        let more = of("+ ours").saturating_sub(of("+ a layer that decides, then forwards"));
        assert!(more <= 5, "{more}");
    }
}
