//! The layer has one gate, wherever axum applies the layer.
//!
//! axum applies a layer once per route, and again per connection. Anything that a layer creates
//! when it is applied is created as often, so tower's `ConcurrencyLimitLayer` of two lets twelve
//! requests run. That is why our gates are created with the layer.

use axum::{
    Router, ServiceExt, body::Body, extract::Request, response::Response, routing::MethodRouter,
};
use tests::Process;
use tower::{
    ServiceBuilder,
    limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer},
};
use tower_waiting_room::WaitingRoomLayer;

use super::{works::layer, *};

#[tokio::test]
async fn two_requests_run_wherever_the_layer_is_with_http_1() {
    two_run_wherever_the_layer_is(Wire::Http1).await;
}

#[tokio::test]
async fn two_requests_run_wherever_the_layer_is_with_http_2() {
    two_run_wherever_the_layer_is(Wire::Http2).await;
}

#[tokio::test]
async fn two_requests_run_wherever_the_layer_is_with_streams_of_one_connection() {
    two_run_wherever_the_layer_is(Wire::Shared).await;
}

#[tokio::test]
async fn the_limit_of_tower_counts_for_each_route_and_connection() {
    let two = || ConcurrencyLimitLayer::new(2);
    let by_method = |floor: &Floor| one_route(floor, |route| route.layer(two()));
    assert_eq!(peak_of(by_method, 10, 10).await, 10);
    let by_router = |floor: &Floor| three_routes(floor).layer(two());
    assert_eq!(peak_of(by_router, 12, 12).await, 12);
    // Two for each of the three routes. With a state, the layer is applied before there are
    // connections.
    let with_state = |floor: &Floor| three_routes(floor).layer(two()).with_state(());
    assert_eq!(peak_of(with_state, 12, 6).await, 6);
    // A shared limit is correct here. `streams.rs` shows which requests it does not count.
    let shared = GlobalConcurrencyLimitLayer::new(2);
    let global = |floor: &Floor| three_routes(floor).layer(shared);
    assert_eq!(peak_of(global, 12, 2).await, 2);
}

async fn two_run_wherever_the_layer_is(wire: Wire) {
    for (place, prefix, put) in PLACES {
        let layer = layer(gate(2));
        let floor = Floor::new();
        let process = put(&floor, layer.clone());
        let works = Works::of(process, layer.handle(), floor);
        println!("{wire:?}, {place}");
        let crowd = wire.crowd(paths(12).map(|path| works.url(&format!("{prefix}{path}"))));
        works.has(2, 10).await;
        works.floor().has(2).await;
        works.finish(12);
        finished(crowd, "done").await;
        works.has(0, 0).await;
        assert_eq!(works.floor().peak(), 2, "{wire:?}, {place}");
    }
}

/// The peak number of requests that run in this application, measured once `expected` of them run.
async fn peak_of(app: impl FnOnce(&Floor) -> Router, requests: usize, expected: usize) -> usize {
    let floor = Floor::new();
    let process = serve(app(&floor));
    let url = |path| format!("http://localhost:{}{path}", process.port());
    let crowd = Wire::Http1.crowd(paths(requests).map(url));
    floor.has(expected).await;
    floor.finish(requests);
    finished(crowd, "done").await;
    floor.peak()
}

fn one_route(floor: &Floor, layered: impl FnOnce(MethodRouter) -> MethodRouter) -> Router {
    Router::new().route("/{any}", layered(floor.work()))
}

fn three_routes(floor: &Floor) -> Router {
    Router::new().route("/a", floor.work()).route("/b", floor.work()).route("/c", floor.work())
}

/// The paths of this number of requests, which alternate between the three routes.
fn paths(requests: usize) -> impl Iterator<Item = &'static str> {
    ["/a", "/b", "/c"].into_iter().cycle().take(requests)
}

/// Serves the router itself, so that axum applies its layers for every connection.
fn serve(app: Router) -> Process {
    Process::start(async |listener| axum::serve(listener, app).await.unwrap())
}

/// Serves the application with the layer somewhere in front of it.
type Put = fn(&Floor, WaitingRoomLayer) -> Process;

/// Each place, the prefix of the paths, and the function that puts the layer there.
const PLACES: [(&str, &str, Put); 10] = [
    ("MethodRouter::layer", "", |floor, layer| serve(one_route(floor, |route| route.layer(layer)))),
    ("MethodRouter::layer of three", "", |floor, layer| {
        let route = || floor.work().layer(layer.clone());
        serve(Router::new().route("/a", route()).route("/b", route()).route("/c", route()))
    }),
    ("MethodRouter::route_layer", "", |floor, layer| {
        serve(one_route(floor, |route| route.route_layer(layer)))
    }),
    ("Router::layer", "", |floor, layer| serve(three_routes(floor).layer(layer))),
    ("Router::layer with a state", "", |floor, layer| {
        serve(three_routes(floor).layer(layer).with_state(()))
    }),
    ("Router::route_layer", "", |floor, layer| serve(three_routes(floor).route_layer(layer))),
    ("in a nested router", "/in", |floor, layer| {
        serve(Router::new().nest("/in", three_routes(floor).layer(layer)))
    }),
    ("around a nested router", "/in", |floor, layer| {
        serve(Router::new().nest("/in", three_routes(floor)).layer(layer))
    }),
    ("ServiceBuilder inside", "", |floor, layer| {
        serve(three_routes(floor).layer(ServiceBuilder::new().layer(layer)))
    }),
    ("ServiceBuilder outside", "", |floor, layer| {
        let app = ServiceBuilder::new()
            .map_response(|response: Response<_>| response.map(Body::new))
            .layer(layer)
            .service(three_routes(floor));
        Process::start(async |listener| {
            let app = ServiceExt::<Request>::into_make_service(app);
            axum::serve(listener, app).await.unwrap();
        })
    }),
];
