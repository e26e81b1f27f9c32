//! Navigation with the back and forward buttons.

use tests::{Browser, House, config, until};

#[tokio::test]
async fn after_admission_going_back_skips_the_waiting_page() {
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
async fn a_visitor_admitted_on_another_page_skips_the_waiting_page() {
    let (house, guest) = House::full(config()).await;
    // A script would notice that the page is outdated, and so hide that the browser had cached it.
    let browser = Browser::start().await.without_scripts().await;
    browser.goto(&house.url("/item?id=7")).await;
    assert_eq!(browser.text("h1").await.unwrap(), "Nobody is ahead of you");
    guest.leave().await;
    until("inside by another page", async || {
        browser.goto(&house.url("/basket")).await;
        browser.text("#asked").await
    })
    .await;
    browser.goto(&house.url("/item?id=7")).await;
    assert_eq!(browser.text("h1").await.unwrap(), "inside");
}
