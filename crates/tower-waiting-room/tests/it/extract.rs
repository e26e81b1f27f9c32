//! A visit as an argument of axum's handlers.

use axum::{Router, body::Body, extract::State, routing::get};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower::{ServiceExt, util::option_layer};
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, request::Bypass, room::Visit};

/// A shop with state, whose routes `/` and `/page` need a visit and may have one.
fn app() -> Router {
    let config = WaitingRoomConfig::builder("shop")
        .total_active_users(5)
        .bypass(Bypass::header("crawler", "x-crawler", "1"))
        .build()
        .unwrap();
    let buy = async |State(shop): State<&'static str>, visit: Visit| {
        visit.end();
        shop
    };
    let page = async |visit: Option<Visit>| visit.map_or("no visit", |_| "a visit");
    Router::new()
        .route("/", get(buy))
        .route("/page", get(page))
        .layer(option_layer(Some(WaitingRoomLayer::new(config).for_axum())))
        .route("/outside", get(async |_: Visit| "never"))
        .with_state("Thank you.")
}

async fn answer(request: Request<Body>) -> (StatusCode, String) {
    let response: Response<Body> = app().oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn get_of(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).unwrap()
}

fn crawler(path: &str) -> Request<Body> {
    Request::get(path).header("x-crawler", "1").body(Body::empty()).unwrap()
}

#[tokio::test]
async fn a_handler_takes_the_visit_of_its_request() {
    assert_eq!(answer(get_of("/")).await, (StatusCode::OK, "Thank you.".into()));
    assert_eq!(answer(get_of("/page")).await, (StatusCode::OK, "a visit".into()));
}

#[tokio::test]
async fn a_request_without_a_visit_is_rejected_with_403_and_the_causes() {
    let causes = "the request belongs to no visit: no waiting room covers this route, the room is \
                  suspended, or the request bypasses it\n";
    let rejected = (StatusCode::FORBIDDEN, causes.to_owned());
    assert_eq!(answer(crawler("/")).await, rejected);
    assert_eq!(answer(get_of("/outside")).await, rejected);
    assert_eq!(answer(crawler("/page")).await, (StatusCode::OK, "no visit".into()));
}
