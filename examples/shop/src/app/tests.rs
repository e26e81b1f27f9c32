use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use tower_waiting_room::{
    WaitingRoomConfig, handle::RoomHandle, request::Bypass, respond::COMMAND_HEADER,
    token::CookieSettings,
};
use waiting_room_test::{Arrivals, Crowd, Habits, SeenAs, TestClient, TestClock, run};

use super::*;

/// A shop that admits this number of visitors at a time.
fn shop(slots: u32, clock: TestClock) -> (Router, RoomHandle) {
    let config = WaitingRoomConfig::builder("shop")
        .total_active_users(slots)
        .session_duration(MINUTE)
        .cookie(CookieSettings::default().insecure())
        .bypass(Bypass::path("health", "/healthz"))
        .build()
        .unwrap();
    let room = WaitingRoomLayer::with_clock(config, clock);
    let handle = room.handle().room().unwrap();
    (app(room), handle)
}

#[test]
fn one_visitor_is_inside_and_the_next_one_waits_for_a_checkout() {
    run(async |clock| {
        for (path, media_type, status) in [
            ("/checkout", FORM, StatusCode::OK),
            ("/api/checkout", JSON, StatusCode::OK),
            ("/again", FORM, StatusCode::SEE_OTHER),
        ] {
            let (shop, room) = shop(1, clock);
            let mut buyer = TestClient::browser(shop.clone(), clock);
            let seen = buyer.get("/").await;
            assert_eq!(seen.status, StatusCode::OK);
            let page = seen.text();
            assert!(page.contains("You are inside") && page.contains("Waiting chair"), "{page}");
            let mut next = TestClient::browser(shop, clock);
            let seen = next.get("/").await;
            assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(seen.seen_as(), SeenAs::Waiting);

            let gone = buyer.post(path, media_type, "").await;
            assert_eq!((gone.status, gone.headers.get(COMMAND_HEADER)), (status, None));
            assert_eq!(room.snapshot().await.unwrap().active, 0, "{path} ends the session");
            clock.pass(seen.retry_after().unwrap()).await;
            assert_eq!(next.get("/").await.status, StatusCode::OK);
        }
    });
}

#[test]
fn a_crowd_that_checks_out_stays_below_the_limit_and_needs_no_lapses() {
    run(async |clock| {
        let buyers = Habits::browser().staying(MINUTE / 2).checking_out("/checkout");
        let record = Crowd::new()
            .group(60, buyers, Arrivals::doors_open(MINUTE, MINUTE / 6))
            .visit(shop(20, clock).0, clock)
            .await;
        record
            .never_above(20)
            .in_order(Duration::from_secs(26))
            .every_visitor_admitted()
            .no_refusals()
            // Two visits of half a minute, and a check-in after each. With sessions that lapse, it
            // would be more than three minutes.
            .waits_at_most(2 * MINUTE);
    });
}

#[test]
fn a_page_is_compressed_and_a_health_check_needs_no_place() {
    run(async |clock| {
        let (shop, room) = shop(1, clock);
        let health = TestClient::browser(shop.clone(), clock).get("/healthz").await;
        assert_eq!((health.status, health.text().as_str()), (StatusCode::OK, "fine\n"));
        assert!(!health.headers.contains_key(header::SET_COOKIE));
        assert_eq!(room.snapshot().await.unwrap().active, 0);
        let browser = || {
            let gzip = HeaderValue::from_static("gzip");
            TestClient::browser(shop.clone(), clock).header(header::ACCEPT_ENCODING, gzip)
        };
        let inside = browser().get("/").await;
        assert_eq!(inside.header("content-encoding"), Some("gzip"));
        let waiting = browser().get("/").await;
        assert_eq!(waiting.header("content-encoding"), None);
        assert!(waiting.text().starts_with("<!doctype html>"));
    });
}

const MINUTE: Duration = Duration::from_secs(60);
const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
