//! Metrics for Prometheus, at `/metrics`, and for OpenTelemetry, if there is a collector.

use std::{error::Error, time::Duration};

use ::metrics::set_global_recorder;
use axum::{Router, routing::get};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_util::layers::FanoutBuilder;
use tokio::time::interval;
use tower_waiting_room::WaitingRoomHandle;

use crate::otlp::{Collector, Exports};

/// Installs the recorder of this process, and begins to export to the collector, if there is one.
/// Call this function before the layer is created.
pub(crate) fn install(
    collector: Option<&Collector>,
) -> Result<(PrometheusHandle, Option<Exports>), Box<dyn Error>> {
    let mut prometheus = PrometheusBuilder::new();
    for (name, buckets) in HISTOGRAMS {
        prometheus = prometheus.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets)?;
    }
    let prometheus = prometheus.build_recorder();
    let handle = prometheus.handle();
    let Some(collector) = collector else {
        set_global_recorder(prometheus)?;
        return Ok((handle, None));
    };
    let (exports, otlp) = Exports::start(collector, &HISTOGRAMS)?;
    let both = FanoutBuilder::default().add_recorder(prometheus).add_recorder(otlp).build();
    set_global_recorder(both)?;
    Ok((handle, Some(exports)))
}

/// Serves the metrics at `/metrics`. Once a second, records the gauges, for exports that no scrape triggers,
/// and moves observations into histograms, which bounds the memory of the recorder.
///
/// The route is not behind the waiting room, so that Prometheus never waits in the line. A real
/// shop would serve it on an address that visitors cannot reach.
pub(crate) fn route(prometheus: PrometheusHandle, handle: WaitingRoomHandle) -> Router {
    let recorder = (prometheus.clone(), handle.clone());
    tokio::spawn(async move {
        let mut every = interval(Duration::from_secs(1));
        loop {
            every.tick().await;
            recorder.1.record().await;
            recorder.0.run_upkeep();
        }
    });
    let metrics = get(move || async move {
        handle.record().await;
        prometheus.render()
    });
    Router::new().route("/metrics", metrics)
}

/// The histograms, each with its buckets.
const HISTOGRAMS: [(&str, &[f64]); 5] = [
    ("waiting_room_wait_seconds", WAITS),
    ("waiting_room_estimate_error_seconds", WAITS),
    ("waiting_room_session_seconds", SESSIONS),
    ("waiting_room_gate_wait_seconds", REQUESTS),
    ("waiting_room_gate_hold_seconds", REQUESTS),
];
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
