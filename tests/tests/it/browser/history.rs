//! Back and forward.

use tests::{Browser, House, config};

#[tokio::test]
async fn after_admission_nobody_goes_back_to_the_waiting_page() {
    let (house, guest) = House::full(config()).await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/about")).await;
    browser.goto(&house.url("/item?id=7")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    guest.leave().await;
    assert_eq!(browser.inside().await, "GET /item?id=7");

    browser.goto(&house.url("/basket")).await;
    browser.client().back().await.unwrap();
    assert_eq!(browser.inside().await, "GET /item?id=7");
    browser.client().back().await.unwrap();
    assert_eq!(browser.inside().await, "GET /about", "the wait is one entry, and no more");
    browser.client().forward().await.unwrap();
    browser.client().forward().await.unwrap();
    assert_eq!(browser.inside().await, "GET /basket");
}

#[tokio::test]
async fn who_comes_back_to_a_waiting_page_of_before_is_let_in() {
    let (house, guest) = House::full(config()).await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/item?id=7")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    browser.goto(&house.url("/about")).await;
    guest.leave().await;
    browser.client().back().await.unwrap();
    browser.text_when("#asked", |text| text == "GET /item?id=7").await;
}
