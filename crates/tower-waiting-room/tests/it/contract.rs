//! The contract of a Tower service: readiness, errors, clones, and the traits of its types.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use http::{Request, Response};
use tower::{Layer, Service, ServiceExt};
use tower_test::{assert_request_eq, mock};
use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};

use crate::support::{House, config};

/// A service that is ready only after `poll_ready` on this value: a clone has to be polled again.
struct Forgetful {
    is_ready: bool,
}

impl Clone for Forgetful {
    fn clone(&self) -> Self {
        Self { is_ready: false }
    }
}

impl Service<Request<()>> for Forgetful {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        assert!(self.is_ready, "called without being ready");
        self.is_ready = false;
        ready(Ok(Response::new(())))
    }
}

/// A service that fails before it is called, and must not be polled again after that.
#[derive(Clone, Default)]
struct Broken {
    has_failed: bool,
}

impl Service<Request<()>> for Broken {
    type Response = Response<()>;
    type Error = &'static str;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        assert!(!std::mem::replace(&mut self.has_failed, true), "polled after its failure");
        Poll::Ready(Err("broken"))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        panic!("called after its failure")
    }
}

fn passthrough() -> WaitingRoomLayer {
    WaitingRoomLayer::new(config().total_active_users(100).build().unwrap())
}

#[tokio::test]
async fn an_inner_service_is_never_called_before_it_is_ready() {
    let mut service = passthrough().layer(Forgetful { is_ready: false });
    for _ in 0..3 {
        service.ready().await.unwrap().call(Request::new(())).await.unwrap();
        service.clone().oneshot(Request::new(())).await.unwrap();
    }
}

#[tokio::test]
async fn readiness_neither_needs_the_inner_service_nor_reserves_anything() {
    let (inner, mut handle) = mock::pair::<Request<&'static str>, Response<&'static str>>();
    handle.allow(0);
    let mut service = passthrough().layer(inner);
    let mut call = tokio_test::task::spawn(service.ready().await.unwrap().call(Request::new("a")));
    tokio_test::assert_pending!(call.poll());
    handle.allow(1);
    tokio_test::assert_pending!(call.poll());
    let (request, respond) = handle.next_request().await.unwrap();
    assert_eq!(request.into_body(), "a");
    respond.send_response(Response::new("b"));
    assert!(call.is_woken());
    tokio_test::assert_ready!(call.poll()).unwrap();
}

#[tokio::test]
async fn an_error_of_the_inner_service_passes_through_unchanged() {
    let (inner, mut handle) = mock::pair::<&'static str, Response<&'static str>>();
    let inner = inner.map_request(|request: Request<&'static str>| request.into_body());
    let mut service = passthrough().layer(inner);
    let mut call = tokio_test::task::spawn(service.ready().await.unwrap().call(Request::new("a")));
    tokio_test::assert_pending!(call.poll());
    assert_request_eq!(handle, "a").send_error("broken");
    let error = tokio_test::assert_ready!(call.poll()).unwrap_err();
    assert_eq!(error.to_string(), "broken");
}

#[tokio::test]
async fn a_service_that_fails_before_it_is_called_is_not_polled_again() {
    let limit = RateLimit::global(Quota::per_minute(9));
    let limits = WaitingRoomConfig::builder("api").rate_limit(limit).build().unwrap();
    for layer in [passthrough(), WaitingRoomLayer::new(limits)] {
        let mut service = layer.layer(Broken::default());
        let answer = service.ready().await.unwrap().call(Request::new(())).await;
        assert_eq!(answer.unwrap_err(), "broken");
    }
}

#[tokio::test]
async fn a_waiting_visitor_never_touches_the_inner_service() {
    let (inner, mut handle) = mock::pair::<Request<()>, Response<String>>();
    handle.allow(0);
    let layer = WaitingRoomLayer::new(config().build().unwrap());
    let first = layer.layer(inner.clone());
    let second = layer.layer(inner);
    let mut held = tokio_test::task::spawn(first.oneshot(Request::new(())));
    tokio_test::assert_pending!(held.poll());
    // The first request has the slot although the application is not ready to take it. The second
    // is answered without the application.
    let response = second.oneshot(Request::new(())).await.unwrap();
    assert_eq!(
        tower_waiting_room::respond::reason_of(&response).unwrap().to_string(),
        "queued:active_limit"
    );
}

#[tokio::test]
async fn services_of_one_layer_share_one_room() {
    let house = House::new(config());
    assert!(house.send(Request::new(String::new())).await.is_inside());
    assert!(!house.send(Request::new(String::new())).await.is_inside());
    assert_eq!((house.forwarded(), house.active().await), (1, 1));
}

#[tokio::test]
async fn the_layer_mounts_on_an_axum_router_without_an_error_handler() {
    use axum::{Router, body::Body, routing::get};

    let layer = WaitingRoomLayer::new(config().build().unwrap());
    let app: Router = Router::new()
        .route("/a", get(|| async { "a" }))
        .route("/b", get(|| async { "b" }))
        .layer(layer);
    let send = |path: &str| app.clone().oneshot(Request::get(path).body(Body::empty()).unwrap());
    assert_eq!(send("/a").await.unwrap().status(), 200);
    assert_eq!(send("/b").await.unwrap().status(), 429);
}

/// Checks the types that users name for the traits that servers need.
#[test]
fn public_types_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone + 'static>() {}
    fn send<T: Send>(_: &T) {}
    check::<WaitingRoomLayer>();
    check::<tower_waiting_room::WaitingRoomHandle>();
    check::<tower_waiting_room::WaitingRoomConfig>();
    check::<tower_waiting_room::service::WaitingRoom<Forgetful>>();
    check::<tower_waiting_room::room::Visit>();
    let mut service = passthrough().layer(Forgetful { is_ready: true });
    send(&service.call(Request::new(())));
}
