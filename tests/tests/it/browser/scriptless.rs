//! A visit in a browser that runs no scripts.

use tests::{Browser, House, config};

#[tokio::test]
async fn the_visitor_sees_the_page_and_enters_by_refresh_alone() {
    let (house, guest) = House::full(config()).await;
    let browser = Browser::start().await.without_scripts().await;
    browser.goto(&house.url("/item?id=7")).await;
    browser.text_when("h1", |text| text == "Nobody is ahead of you").await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    let footer = browser.text("footer").await.unwrap();
    assert!(footer.starts_with("This page updates by itself."), "{footer}");
    guest.leave().await;
    assert_eq!(browser.inside().await, "GET /item?id=7");
}
