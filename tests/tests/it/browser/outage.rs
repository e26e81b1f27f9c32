//! A server that stops while a visitor waits, and is restarted.

use serde_json::json;
use tests::{Browser, House, config};

#[tokio::test]
async fn the_page_reports_an_outage_and_continues_after_it() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/item?id=7")).await;
    browser.value("window.unmoved = true").await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    let port = house.port();
    house.close().await;
    let lost = browser.text_when("#lost", |text| !text.is_empty()).await;
    assert!(lost.starts_with("The connection is lost. Your place is kept"), "{lost}");
    assert_eq!(browser.value("window.unmoved").await, json!(true));
    let _house = House::open_at(port, config(), |app| app);
    assert_eq!(browser.inside().await, "GET /item?id=7");
}
