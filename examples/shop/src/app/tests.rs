use std::time::Duration;

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode, header},
};
use tower::ServiceExt;
use tower_waiting_room::{
    WaitingRoomConfig, handle::RoomHandle, request::Bypass, respond::COMMAND_HEADER,
    token::CookieSettings,
};

use super::*;

/// A shop that admits one visitor at a time.
fn small_shop() -> (Router, RoomHandle) {
    let config = WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .session_duration(Duration::from_secs(60))
        .cookie(CookieSettings::default().insecure())
        .bypass(Bypass::path("health", "/healthz"))
        .build()
        .unwrap();
    let room = WaitingRoomLayer::new(config);
    let handle = room.handle().room().unwrap();
    (app(room), handle)
}

async fn ask(shop: &Router, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let response = shop.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    (head.status, head.headers, String::from_utf8_lossy(&body).into_owned())
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).header(header::ACCEPT, "text/html").body(Body::empty()).unwrap()
}

fn post(path: &str, media_type: &str, cookies: &str, body: &'static str) -> Request<Body> {
    Request::post(path)
        .header(header::CONTENT_TYPE, media_type)
        .header(header::COOKIE, cookies)
        .body(Body::from(body))
        .unwrap()
}

/// The cookies that a response sets, as a browser sends them back.
fn cookies(headers: &HeaderMap) -> String {
    let set = headers.get_all(header::SET_COOKIE).iter().map(|line| line.to_str().unwrap());
    set.map(|line| line.split(';').next().unwrap()).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn one_visitor_is_inside_and_the_next_one_waits_for_a_checkout() {
    for (path, media_type) in [("/checkout", FORM), ("/api/checkout", JSON)] {
        let (shop, room) = small_shop();
        let (status, headers, body) = ask(&shop, get("/")).await;
        assert_eq!(status, StatusCode::OK);
        assert!(body.contains("Waiting chair"), "{body}");
        let (status, waiting, _) = ask(&shop, get("/")).await;
        assert_eq!(
            (status, &waiting["waiting-room"]),
            (StatusCode::SERVICE_UNAVAILABLE, &"wait".parse().unwrap())
        );

        let (status, gone, _) = ask(&shop, post(path, media_type, &cookies(&headers), "")).await;
        assert_eq!((status, gone.get(COMMAND_HEADER)), (StatusCode::OK, None));
        assert_eq!(room.snapshot().await.unwrap().active, 0, "{path} ends the session");
        assert_eq!(ask(&shop, get("/")).await.0, StatusCode::OK);
    }
}

#[tokio::test]
async fn health_is_asked_for_without_a_place() {
    let (shop, room) = small_shop();
    let (status, headers, body) = ask(&shop, get("/healthz")).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "fine\n"));
    assert!(!headers.contains_key(header::SET_COOKIE));
    assert_eq!(room.snapshot().await.unwrap().active, 0);
}

#[tokio::test]
async fn a_cart_is_filled_by_form_and_by_json_up_to_its_bound() {
    let (shop, _) = small_shop();
    let (_, headers, _) = ask(&shop, get("/")).await;
    let pass = cookies(&headers);
    let (status, headers, _) = ask(&shop, post("/cart", FORM, &pass, "product=chair")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let cart = format!("{pass}; {}", cookies(&headers));
    let wish = post("/api/cart", JSON, &cart, r#"{"product":"lamp"}"#);
    let (status, _, body) = ask(&shop, wish).await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.contains("\"total_cents\":33350"), "{body}");
    let unknown = post("/api/cart", JSON, &cart, r#"{"product":"<script>"}"#);
    assert_eq!(ask(&shop, unknown).await.0, StatusCode::NOT_FOUND);
    let full = format!("{pass}; cart={}", ["chair"; 99].join("."));
    let wish = post("/api/cart", JSON, &full, r#"{"product":"lamp"}"#);
    assert_eq!(ask(&shop, wish).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_page_is_compressed_and_the_answer_of_the_room_is_not() {
    let (shop, _) = small_shop();
    let zipped = || {
        let request = Request::get("/").header(header::ACCEPT, "text/html");
        request.header(header::ACCEPT_ENCODING, "gzip").body(Body::empty()).unwrap()
    };
    let (_, inside, _) = ask(&shop, zipped()).await;
    assert_eq!(inside[header::CONTENT_ENCODING], "gzip");
    let (_, waiting, page) = ask(&shop, zipped()).await;
    assert_eq!(waiting.get(header::CONTENT_ENCODING), None);
    assert!(page.starts_with("<!doctype html>"));
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
