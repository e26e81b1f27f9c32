//! Metrics for Prometheus, at `/metrics`.

use std::time::Duration;

use axum::{Router, routing::get};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::time::interval;
use tower_waiting_room::{WaitingRoomHandle, room::Store};

/// Installs the recorder of this process. Call this function before the layer is created.
///
/// # Errors
///
/// Another recorder is already installed.
pub(crate) fn install() -> Result<PrometheusHandle, BuildError> {
    let named = |name: &str| Matcher::Full(format!("waiting_room_{name}_seconds"));
    PrometheusBuilder::new()
        .set_buckets_for_metric(named("wait"), WAITS)?
        .set_buckets_for_metric(named("estimate_error"), WAITS)?
        .set_buckets_for_metric(named("session"), SESSIONS)?
        .set_buckets_for_metric(Matcher::Prefix("waiting_room_gate_".to_owned()), REQUESTS)?
        .install_recorder()
}

/// Serves the metrics at `/metrics`, and keeps the memory of the recorder bounded.
///
/// The route is not behind the waiting room, so that Prometheus never waits in the line. A real
/// shop would serve it on an address that visitors cannot reach.
pub(crate) fn route<St: Store>(
    prometheus: PrometheusHandle,
    handle: WaitingRoomHandle<St>,
) -> Router {
    let exporter = prometheus.clone();
    tokio::spawn(async move {
        let mut every = interval(UPKEEP);
        loop {
            every.tick().await;
            exporter.run_upkeep();
        }
    });
    let metrics = get(move || async move {
        handle.record().await;
        prometheus.render()
    });
    Router::new().route("/metrics", metrics)
}

/// The time between two steps of the recorder's upkeep, which moves observations into histograms.
const UPKEEP: Duration = Duration::from_secs(5);
/// Buckets for visitors, in seconds: a wait takes from seconds to hours.
const WAITS: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0,
];
/// Buckets for sessions, in seconds. A visitor rarely checks out within half a minute, and may stay
/// for hours if it visits often enough.
const SESSIONS: &[f64] =
    &[30.0, 60.0, 120.0, 180.0, 300.0, 450.0, 600.0, 900.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0];
/// Buckets for requests, in seconds.
const REQUESTS: &[f64] =
    &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
