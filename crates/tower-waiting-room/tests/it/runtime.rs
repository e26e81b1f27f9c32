//! A service that runs without a tokio runtime.

use std::convert::Infallible;

use futures_util::FutureExt;
use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Concurrency, Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder, rate::Algorithm, respond::reason_of,
};

/// Sends a request that must be answered without waiting. Returns the status, the reason and the
/// response, which keeps its permits until it is dropped.
fn send(layer: &WaitingRoomLayer) -> (u16, String, Box<dyn std::any::Any>) {
    let app =
        service_fn(async |_: Request<String>| Ok::<_, Infallible>(Response::new(String::new())));
    let sent = layer.layer(app).oneshot(Request::new(String::new()));
    let response = sent.now_or_never().expect("nothing has to be waited for").unwrap();
    let reason = reason_of(&response).map(ToString::to_string).unwrap_or_default();
    (response.status().as_u16(), reason, Box::new(response))
}

fn layer(config: WaitingRoomConfigBuilder) -> WaitingRoomLayer {
    WaitingRoomLayer::new(config.build().unwrap())
}

fn codes(layer: &WaitingRoomLayer) -> Vec<&'static str> {
    layer
        .handle()
        .misconfigurations()
        .iter()
        .map(|misconfiguration| misconfiguration.code())
        .collect()
}

#[test]
fn without_a_runtime_a_request_that_would_wait_at_a_gate_is_refused() {
    let gate = Concurrency::limit(1).queue(8);
    let layer = layer(WaitingRoomConfig::builder("works").concurrency(gate));
    let (status, _, held) = send(&layer);
    assert_eq!(status, 200);
    let (status, reason, _) = send(&layer);
    assert_eq!((status, reason.as_str()), (504, "refused:gate_timeout"));
    let gates = layer.handle().gates();
    assert_eq!((gates[0].snapshots()[0].in_flight, gates[0].snapshots()[0].queued), (1, 0));
    drop(held);
    assert_eq!(send(&layer).0, 200);
    assert!(codes(&layer).contains(&"no_runtime"));
}

#[test]
fn without_a_runtime_a_request_that_would_wait_for_its_turn_is_refused() {
    let queue = RateLimit::new("queue", Quota::per_minute(10), Key::global());
    let queue = queue.algorithm(Algorithm::LeakyQueue);
    let layer = layer(WaitingRoomConfig::builder("api").rate_limit(queue));
    assert_eq!(send(&layer).0, 200);
    let (status, reason, _) = send(&layer);
    assert_eq!((status, reason.as_str()), (429, "refused:rate:queue"));
    assert_eq!(codes(&layer), ["no_runtime"]);
}
