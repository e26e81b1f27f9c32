//! A form that is submitted while the room is full.

use fantoccini::Locator;
use tests::{Browser, House, config, until};

#[tokio::test]
async fn a_form_is_not_lost_and_is_sent_again_on_request() {
    let (house, guest) = House::full(config()).await;
    let browser = Browser::start().await;
    let form = "<form method=post enctype=text/plain><input name=item value=7></form>";
    browser.goto(&house.url("/about")).await;
    browser.value(&format!("document.body.innerHTML = `{form}`")).await;
    let action = house.url("/order?via=form");
    browser.value(&format!("document.forms[0].action = '{action}'")).await;
    browser.value("document.forms[0].submit()").await;

    let note = browser.text_when(".note:not([hidden])", |_| true).await;
    assert!(note.starts_with("What you entered has not been sent yet."), "{note}");
    guest.leave().await;
    // The page does not reload by itself: a reload would resubmit the form, or lose it.
    browser.text_when("h1", |text| text == "It is your turn").await;
    assert_eq!(house.snapshot().await.active, 1);

    browser.client().find(Locator::Id("reload")).await.unwrap().click().await.unwrap();
    until("the form is sent", async || {
        // Chromium asks for confirmation before it resubmits a form.
        let _ = browser.client().accept_alert().await;
        browser.text("#asked").await
    })
    .await;
    assert_eq!(browser.text("#asked").await.unwrap(), "POST /order?via=form");
    assert_eq!(browser.text("#sent").await.unwrap(), "item=7");
}
