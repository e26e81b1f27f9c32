//! The layer with any set of its features, also with none. Unlike the other tests, these run
//! without a room and files too.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

use std::convert::Infallible;

use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    Concurrency, Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer, respond::reason_of,
};

/// Sends a request of a German browser. Returns the head of the response, and its text.
async fn visit(layer: &WaitingRoomLayer) -> (http::response::Parts, Option<String>, String) {
    let inside =
        |_: Request<String>| async { Ok::<_, Infallible>(Response::new("inside".to_owned())) };
    let request = Request::get("/")
        .header(header::ACCEPT, "text/html")
        .header(header::ACCEPT_LANGUAGE, "de")
        .body(String::new())
        .unwrap();
    let response = layer.layer(service_fn(inside)).oneshot(request).await.unwrap();
    let reason = reason_of(&response).map(ToString::to_string);
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head, reason, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_browser_over_a_limit_gets_a_page_in_its_language() {
    let limit = RateLimit::new("all", Quota::per_minute(1), Key::global());
    let config = WaitingRoomConfig::builder("api").rate_limit(limit).build().unwrap();
    let layer = WaitingRoomLayer::new(config);
    assert_eq!(visit(&layer).await.2, "inside");
    let (head, reason, text) = visit(&layer).await;
    assert_eq!(head.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reason.as_deref(), Some("refused:rate:all"));
    let header = |name| head.headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(header(header::RETRY_AFTER), "60");
    assert_eq!(header(header::CONTENT_TYPE), "text/html; charset=utf-8");
    assert_eq!(header(header::CONTENT_LANGUAGE), "de");
    assert!(text.starts_with("<!doctype html>"), "{text}");
}

#[tokio::test]
async fn a_gate_alone_refuses_requests_over_its_limit() {
    let gate = Concurrency::limit(1).name("works").queue(0);
    let config = WaitingRoomConfig::builder("api").concurrency(gate).build().unwrap();
    let layer = WaitingRoomLayer::new(config);
    assert_eq!(visit(&layer).await.2, "inside");
    layer.handle().gate("works").unwrap().set_limit(0).unwrap();
    assert_eq!(visit(&layer).await.1.as_deref(), Some("refused:gate_full"));
}

#[test]
fn a_layer_without_any_stage_is_refused_with_the_possible_ones() {
    let error = WaitingRoomConfig::builder("api").build().unwrap_err().to_string();
    let (field, other) = if cfg!(feature = "room") {
        ("total_active_users", "the number of visitors")
    } else {
        ("rate_limit", "a rate limit or a limit on concurrency")
    };
    assert!(error.starts_with(&format!("{field} is missing, expected {other}")), "{error}");
}
