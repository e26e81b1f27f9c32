//! A visitor continues on another device.

use tests::{Browser, House, Visitor, config, until};

use super::accessibility::expect_no_violations;

/// A visitor who waits at an address of a room that offers links, for the slot of a guest.
async fn next_in_line(path: &str) -> (House, Visitor, Browser) {
    let (house, guest) = House::full(config().transfer_path("/transfer")).await;
    let browser = Browser::start().await;
    browser.goto(&house.url(path)).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    (house, guest, browser)
}

#[tokio::test]
async fn a_visitor_continues_on_another_device_with_a_link() {
    let (house, guest, laptop) = next_in_line("/item?id=7").await;
    until("an offer", async || laptop.text("#offer.on").await).await;
    expect_no_violations(&laptop, "with an offer").await;
    laptop.value("document.getElementById('offer').click()").await;
    until("a link", async || {
        laptop
            .value("document.getElementById('link').value")
            .await
            .as_str()
            .filter(|token| !token.is_empty())
            .map(drop)
    })
    .await;
    expect_no_violations(&laptop, "with a link").await;
    let link = laptop.value("document.getElementById('link').value").await;
    let link = link.as_str().unwrap();
    assert!(link.starts_with(&house.url("/item?id=7&waiting-room-link#waiting-room=")), "{link}");

    // The other device has no cookies, so it begins as a newcomer.
    laptop.client().delete_all_cookies().await.unwrap();
    laptop.goto("about:blank").await;
    let phone = laptop;
    phone.goto(link).await;
    until("a question", async || {
        let shown = phone.value("!document.getElementById('come').hidden").await;
        shown.as_bool().filter(|shown| *shown)
    })
    .await;
    expect_no_violations(&phone, "with a question").await;
    phone.value("document.getElementById('here').click()").await;
    phone.text_when("h1", |text| text == "You are next in line").await;
    assert_eq!(phone.value("location.hash").await, "");
    guest.leave().await;
    assert_eq!(phone.inside().await, "GET /item?id=7");
    // A visitor who need not wait has no use for the link, and the application does not see it.
    phone.goto("about:blank").await;
    phone.goto(link).await;
    assert_eq!(phone.inside().await, "GET /item?id=7");
    assert_eq!(phone.value("location.href").await, house.url("/item?id=7#"));
}

#[tokio::test]
async fn an_invalid_link_is_reported_and_the_visitor_keeps_its_own_place() {
    let (_house, _guest, browser) = next_in_line("/#waiting-room=x").await;
    browser.value("document.getElementById('here').click()").await;
    let words = browser.text_when("#void", |text| !text.is_empty()).await;
    assert_eq!(words, "This link is no longer valid. Ask for a new one on the other device.");
    expect_no_violations(&browser, "with a link that is not valid").await;
    assert_eq!(browser.text("h1").await.unwrap(), "You are next in line");
}
