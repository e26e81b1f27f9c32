//! Defects of other limiters, each named after the crate in which it was found: those that concern the way
//! in which a limit is mounted. Properties and vectors hold the others.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, routing::get};
use http::{Request, Response, StatusCode};
use tower::{Layer, ServiceExt};
use tower_test::mock;
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer, rate::Algorithm,
};

use crate::support::House;

fn layer(limit: RateLimit) -> WaitingRoomLayer {
    WaitingRoomLayer::new(WaitingRoomConfig::builder("api").rate_limit(limit).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn tower_resilience_serves_waiting_requests_in_no_order() {
    let queue = RateLimit::new("queue", Quota::new(20, Duration::from_secs(2)), Key::global());
    let house = House::new(
        WaitingRoomConfig::builder("api").rate_limit(queue.algorithm(Algorithm::LeakyQueue)),
    );
    let served = std::sync::Mutex::new(Vec::new());
    let waiters = (0..20).map(|number| {
        let house = &house;
        let served = &served;
        async move {
            assert!(house.send(Request::new(String::new())).await.is_inside());
            served.lock().unwrap().push(number);
        }
    });
    futures_util::future::join_all(waiters).await;
    assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

/// Sends requests to clones of a router, as a server does that clones its service for each
/// connection. Returns how many were admitted.
async fn allowed_by_clones(app: Router) -> usize {
    let peer = ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 40_000)));
    let mut allowed = 0;
    for _ in 0..50 {
        let request = Request::get("/").extension(peer).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        allowed += usize::from(response.status() == StatusCode::OK);
    }
    allowed
}

#[tokio::test]
async fn tower_limits_nothing_in_axum_where_every_connection_has_its_own_clone() {
    let limited = layer(RateLimit::per_ip(Quota::per_minute(5)));
    let app = Router::new().route("/", get(|| async { "inside" })).layer(limited);
    assert_eq!(allowed_by_clones(app).await, 5);
}

#[tokio::test]
async fn tower_has_one_limit_for_each_request_on_a_method_router() {
    let limited = layer(RateLimit::per_ip(Quota::per_minute(5)));
    let app = Router::new().route("/", get(|| async { "inside" }).layer(limited));
    assert_eq!(allowed_by_clones(app).await, 5);
}

#[tokio::test]
async fn tower_sheds_whenever_the_service_is_not_ready() {
    let (inner, mut handle) = mock::pair::<Request<()>, Response<String>>();
    handle.allow(0);
    let service = layer(RateLimit::global(Quota::per_minute(10))).layer(inner);
    let mut call = tokio_test::task::spawn(service.oneshot(Request::new(())));
    // The service is not ready and the limit is not reached, so the request waits.
    tokio_test::assert_pending!(call.poll());
    handle.allow(1);
    tokio_test::assert_pending!(call.poll());
    let (_, respond) = handle.next_request().await.unwrap();
    respond.send_response(Response::new(String::new()));
    let response = tokio_test::assert_ready!(call.poll()).unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}
