//! The appearance of the waiting page.

use serde_json::json;
use tests::{Browser, House, config};
use tower_waiting_room::respond::Page;

#[tokio::test]
async fn dark_mode_has_colours_of_its_own_and_both_can_be_read() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await;
        browser.goto(&house.url("/")).await;
        let colours = browser
            .value(
                "[document.body, document.querySelector('main')].map(it => \
                    [getComputedStyle(it).color, getComputedStyle(it).backgroundColor])",
            )
            .await;
        seen.push((scheme, colours));
    }
    let [(_, light), (_, dark)] = seen.as_slice() else { panic!("two looks") };
    for (element, property) in [(0, 0), (0, 1), (1, 1)] {
        assert_ne!(light[element][property], dark[element][property], "{light} {dark}");
    }
}

#[tokio::test]
async fn nothing_moves_with_reduced_motion() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    // The animations of all elements, and the longest transition in seconds.
    let motion = "(all => [all.map(it => it.animationName).filter(it => it !== 'none'), \
        Math.max(...all.flatMap(it => it.transitionDuration.split(',').map(parseFloat)))])\
        ([...document.querySelectorAll('*')].map(it => getComputedStyle(it)))";
    for (preference, expected) in
        [("no-preference", json!([["drift"], 1])), ("reduce", json!([[], 0]))]
    {
        let features = json!([{ "name": "prefers-reduced-motion", "value": preference }]);
        browser.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        browser.goto(&house.url("/")).await;
        browser.value("document.getElementById('bar').parentNode.classList.add('open')").await;
        assert_eq!(browser.value(motion).await, expected, "{preference}");
    }
}

#[tokio::test]
async fn the_page_obeys_its_own_policy_and_loads_nothing_else() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    // The only message is about the status of the page itself.
    let complaints = browser.complaints().await;
    assert!(complaints.len() == 1 && complaints[0].contains("503"), "{complaints:?}");
    let loaded =
        browser.value("performance.getEntriesByType('resource').map(it => it.initiatorType)").await;
    assert!(loaded.as_array().unwrap().iter().all(|kind| kind == "fetch"), "{loaded}");
}

#[tokio::test]
async fn a_custom_template_waits_by_refresh() {
    let template = "<!doctype html><html lang={{ lang }}><title>{{ title }}</title>\
                    <h1>{{ message.position or message.headline }}</h1><p>{{ room }}, {{ outcome }}</p>";
    let page = Page::template(template).unwrap().title("Midsummer <Festival>");
    let (house, guest) = House::full(config().page(page)).await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/item?id=7")).await;
    assert_eq!(browser.client().title().await.unwrap(), "Midsummer <Festival>");
    assert_eq!(browser.text("p").await.unwrap(), "shop, wait");
    browser.text_when("h1", |text| text == "You are next in line").await;
    guest.leave().await;
    assert_eq!(browser.inside().await, "GET /item?id=7");
}
