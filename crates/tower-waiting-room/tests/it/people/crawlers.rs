use http::{Request, StatusCode};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig,
    config::{Enforcement, WaitingRoomConfigBuilder},
    room::{CookieTest, QueueingMethod, RoomMode},
};

use crate::support::{House, Visitor, config};

/// A proxy has verified the crawlers, and says so in a header.
fn with_crawlers(config: WaitingRoomConfigBuilder) -> WaitingRoomConfigBuilder {
    config.crawlers(|head| head.headers().contains_key("x-verified-crawler"))
}

fn crawl() -> http::request::Builder {
    Request::get("/").header("accept", "text/html").header("x-verified-crawler", "1")
}

/// Sends a request without a cookie. Returns the reason, and whether it reached the application.
async fn crawled(house: &House) -> (String, bool) {
    let seen = Visitor::default().send(house, crawl()).await;
    assert_eq!(seen.cookie(), None);
    let is_inside = seen.is_inside();
    (seen.reason, is_inside)
}

#[tokio::test]
async fn a_crawler_passes_without_a_session_until_a_visitor_waits() {
    let house = House::new(with_crawlers(config()));
    for _ in 0..50 {
        assert_eq!(crawled(&house).await, ("bypass:crawler".to_owned(), true));
    }
    assert_eq!(house.active().await, 0);
    assert!(Visitor::default().get(&house).await.is_inside());
    assert!(crawled(&house).await.1);
    // A first touch has no place yet, but its visitor waits.
    let mut ann = Visitor::default();
    assert!(!ann.get(&house).await.is_inside());
    assert_eq!(crawled(&house).await, ("refused:crawler".to_owned(), false));
    house.advance(2);
    ann.get(&house).await;
    assert_eq!(crawled(&house).await, ("refused:crawler".to_owned(), false));
    assert_eq!(house.active().await, 1);
    assert_eq!(house.handle().room().unwrap().snapshot().await.unwrap().waiting, 1);
    // Once nobody waits, the crawler passes again.
    house.advance(600);
    assert!(crawled(&house).await.1);
}

#[tokio::test]
async fn a_crawler_is_asked_to_return_by_a_text_instead_of_a_page() {
    let house = House::new(with_crawlers(config()).mode(RoomMode::QueueAll));
    let seen = Visitor::default().send(&house, crawl()).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen.header("retry-after"), Some("120"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    assert_eq!(seen.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(seen.header("set-cookie"), None);
    assert_eq!(seen.body, "Many people are here right now. Please come back later.\n");
    // The status does not depend on that of visitors.
    let config = with_crawlers(config()).mode(RoomMode::Drain);
    let kind = tower_waiting_room::respond::ClientKind::Navigation;
    let house = House::new(config.status(kind, StatusCode::OK));
    let seen = Visitor::default().send(&house, crawl()).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_name_of_a_crawler_does_not_bypass_the_line() {
    let house = House::new(with_crawlers(config()));
    assert!(Visitor::default().get(&house).await.is_inside());
    let request = crawl().body(String::new()).unwrap();
    let (mut parts, body) = request.into_parts();
    parts.headers.remove("x-verified-crawler");
    let name = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    parts.headers.insert("user-agent", name.parse().unwrap());
    let seen = house.send(Request::from_parts(parts, body)).await;
    assert_eq!(seen.reason, "queued:active_limit");
}

#[tokio::test]
async fn a_crawler_with_a_ticket_has_no_place_and_one_with_a_pass_is_a_visitor() {
    let house = House::new(with_crawlers(config()));
    let mut inside = Visitor::default();
    assert!(inside.get(&house).await.is_inside());
    assert_eq!(inside.send(&house, crawl()).await.reason, "admitted");
    let mut ann = Visitor::default();
    ann.get(&house).await;
    house.advance(2);
    assert_eq!(ann.send(&house, crawl()).await.reason, "refused:crawler");
    assert_eq!(house.handle().room().unwrap().snapshot().await.unwrap().waiting, 0);
}

#[tokio::test]
async fn a_pending_cookie_test_keeps_no_crawler_out() {
    let config = with_crawlers(config()).cookie_test(CookieTest::AboveUtilization(10));
    let house = House::new(config.total_active_users(9));
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(Visitor::default().get(&house).await.reason, "queued:cookie_test");
    assert!(crawled(&house).await.1);
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn a_room_that_refuses_visitors_refuses_crawlers_too() {
    let house = House::new(with_crawlers(config()).queueing_method(QueueingMethod::Reject));
    assert!(Visitor::default().get(&house).await.is_inside());
    assert_eq!(Visitor::default().get(&house).await.reason, "refused:reject");
    assert_eq!(crawled(&house).await.0, "refused:crawler");
    house.advance(20);
    assert!(crawled(&house).await.1);
}

#[tokio::test]
async fn limits_apply_to_crawlers() {
    let limit = RateLimit::global(Quota::per_minute(1).burst(1));
    let house = House::new(with_crawlers(config()).rate_limit(limit));
    assert!(crawled(&house).await.1);
    let seen = Visitor::default().send(&house, crawl()).await;
    assert_eq!(seen.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn in_shadow_mode_a_crawler_is_only_counted() {
    let config = with_crawlers(config()).mode(RoomMode::QueueAll);
    let house = House::new(config.enforcement(Enforcement::Shadow));
    assert!(crawled(&house).await.1);
}

#[test]
fn crawlers_need_a_room() {
    let limit = RateLimit::global(Quota::per_minute(1));
    let no_room = with_crawlers(WaitingRoomConfig::builder("shop").rate_limit(limit));
    assert_eq!(
        no_room.build().unwrap_err().to_string(),
        "crawlers is set, expected total_active_users, because visitors wait only in a room"
    );
}
