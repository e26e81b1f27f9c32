//! The programs with a waiting room in one process.

use http::{Method, StatusCode};

use super::running::Running;

/// The headers of a browser.
const PAGE: [(&str, &str); 1] = [("accept", "text/html")];

#[tokio::test]
async fn the_room_of_the_docs_shows_its_page_to_a_visitor_that_finds_no_slot() {
    let shop = Running::start("a-waiting-room").await;
    let inside = shop.visitor();
    let waiting = shop.visitor();
    for _ in 0..2 {
        let seen = inside.get_with("/", &PAGE).await;
        assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Welcome to the shop."));
    }
    let seen = waiting.get_with("/", &PAGE).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(seen.body.contains("Nobody is ahead of you"), "{}", seen.body);
    assert!(seen.header("refresh").is_some(), "{:?}", seen.headers);
    assert_eq!(shop.close().await, "");
}

#[tokio::test]
async fn the_axum_program_of_the_docs_frees_the_slot_of_a_buyer() {
    let shop = Running::start("part-of-an-axum-application").await;
    let buyer = shop.visitor();
    let other = shop.visitor();
    assert_eq!(buyer.get("/").await.body, "Welcome to the shop.");
    assert_eq!(shop.visitor().get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(shop.visitor().get("/health").await.body, "up");

    assert_eq!(buyer.send(Method::POST, "/buy").await.body, "Thank you.");
    assert_eq!(other.get("/").await.body, "Welcome to the shop.");
    assert_eq!(shop.close().await, "");
}

#[tokio::test]
async fn the_page_of_the_docs_is_the_one_that_a_waiting_visitor_sees() {
    let tickets = Running::start("a-page-of-your-own").await;
    assert_eq!(tickets.visitor().get("/").await.body, "Two tickets are left.");
    let seen = tickets.visitor().get_with("/", &PAGE).await;
    assert_eq!(seen.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(seen.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(seen.body.contains("<h1>Midsummer Festival: "), "{}", seen.body);
    assert!(!seen.body.contains("<style"), "our own page has a style: {}", seen.body);
    assert!(seen.header("refresh").is_some(), "{:?}", seen.headers);
    assert_eq!(tickets.close().await, "");
}
