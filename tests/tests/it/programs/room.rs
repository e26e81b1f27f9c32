//! The programs with a waiting room in one process.

use std::time::Duration;

use http::{Method, StatusCode};
use tests::{Seen, obey};
use tower_waiting_room::time::{Clock, SystemClock};

use super::running::Running;

/// The headers of a browser.
const PAGE: [(&str, &str); 1] = [("accept", "text/html")];

/// The reason in an answer for programs.
fn reason(seen: &Seen) -> String {
    let json = seen.json();
    let reason = json["reason"].as_str().or(json["waitingRoom"]["reason"].as_str());
    reason.unwrap_or_else(|| panic!("{seen:?}")).to_owned()
}

#[tokio::test]
async fn the_room_of_the_docs_shows_its_page_and_frees_the_slot_of_a_buyer() {
    let shop = Running::start("room").await;
    let buyer = shop.visitor();
    let waiting = shop.visitor();
    for _ in 0..2 {
        let seen = buyer.get_with("/", &PAGE).await;
        assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Welcome to the shop."));
    }
    let seen = waiting.get_with("/", &PAGE).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(seen.body.contains("Nobody is ahead of you"), "{}", seen.body);
    assert!(seen.header("refresh").is_some(), "{:?}", seen.headers);
    assert_eq!(shop.visitor().get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(shop.visitor().get("/health").await.body, "up");

    assert_eq!(buyer.send(Method::POST, "/buy").await.body, "Thank you.");
    assert_eq!(shop.visitor().get("/").await.body, "Welcome to the shop.");
    assert_eq!(shop.close().await, "");
}

#[tokio::test]
async fn the_room_behind_nginx_of_the_docs_counts_the_places_and_requests_of_a_network() {
    let shop = Running::start("behind_nginx").await;
    let here = [("x-forwarded-for", "8.8.8.8, 203.0.113.9")];
    let elsewhere = [("x-forwarded-for", "203.0.113.9, 198.51.100.9")];
    let inside = shop.visitor();
    assert_eq!(inside.get_with("/", &here).await.body, "Welcome to the shop.");

    let jars = [here, here, here, elsewhere].map(|from| (shop.visitor(), from));
    let mut pause = Duration::ZERO;
    for (visitor, from) in &jars {
        pause = pause.max(visitor.get_with("/", from).await.retry_after().unwrap());
    }
    obey(pause).await;
    let mut reasons = Vec::new();
    for (visitor, from) in &jars {
        reasons.push(reason(&visitor.get_with("/", from).await));
    }
    let waits = "queued:active_limit";
    assert_eq!(reasons, [waits, waits, "refused:network_full", waits]);

    for _ in 0..2 {
        assert_eq!(inside.get_with("/", &here).await.body, "Welcome to the shop.");
    }
    assert_eq!(reason(&inside.get_with("/", &here).await), "refused:rate:per_ip");
    assert_eq!(inside.get_with("/", &elsewhere).await.body, "Welcome to the shop.");
    assert_eq!(shop.close().await, "");
}

#[tokio::test]
async fn the_event_of_the_docs_opens_at_its_time() {
    let opens = SystemClock::new().now() + Duration::from_secs(4);
    let sale = Running::start_with("event", |command| command.arg(opens.to_string())).await;
    let visitor = sale.visitor();
    let mut seen = visitor.get("/").await;
    assert_eq!(reason(&seen), "prequeue");
    while seen.status != StatusCode::OK {
        obey(seen.retry_after().unwrap()).await;
        seen = visitor.get("/").await;
    }
    assert_eq!(seen.body, "Welcome to the sale.");
    assert!(SystemClock::new().now() >= opens);
    assert_eq!(sale.close().await, "");
}

#[tokio::test]
async fn a_waiting_visitor_sees_the_page_and_the_json_of_the_docs() {
    let tickets = Running::start("page").await;
    assert_eq!(tickets.visitor().get("/").await.body, "Two tickets are left.");
    let seen = tickets.visitor().get_with("/", &PAGE).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(seen.body.contains("<h1>Midsummer Festival: "), "{}", seen.body);
    assert!(!seen.body.contains("<style"), "our own page has a style: {}", seen.body);
    assert!(seen.header("refresh").is_some(), "{:?}", seen.headers);
    let seen = tickets.visitor().get("/").await;
    assert_eq!(seen.json()["queue"]["retry"], seen.retry_after().unwrap().as_secs());
    assert_eq!(tickets.close().await, "");
}

#[tokio::test]
async fn each_room_of_the_docs_has_its_own_slots() {
    let shop = Running::start("rooms").await;
    for _ in 0..2 {
        assert_eq!(shop.visitor().get("/").await.body, "Welcome.");
        assert_eq!(shop.visitor().get("/shop/shoes").await.body, "Everything must go.");
    }
    assert_eq!(shop.visitor().get("/shop/sale/shoes").await.body, "Everything must go.");
    assert_eq!(reason(&shop.visitor().get("/shop/sale/shoes").await), "queued:active_limit");
    assert_eq!(shop.close().await, "");
}

#[tokio::test]
async fn the_optional_room_of_the_docs_can_be_absent() {
    let with = Running::start("optional").await;
    let without = Running::start_with("optional", |command| command.env("NO_ROOM", "1")).await;
    for shop in [&with, &without] {
        assert_eq!(shop.visitor().get("/").await.body, "Welcome to the shop.");
    }
    assert_eq!(reason(&with.visitor().get("/").await), "queued:active_limit");
    assert_eq!(without.visitor().get("/").await.body, "Welcome to the shop.");
    for shop in [with, without] {
        assert_eq!(shop.close().await, "");
    }
}
