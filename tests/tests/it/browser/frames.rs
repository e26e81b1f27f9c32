//! The waiting page in a frame on a page of another site.

use fantoccini::Locator;
use serde_json::{Value, json};
use tests::{Browser, House, Visitor, config};
use tower_waiting_room::{
    respond::Page,
    token::{CookieSettings, SameSite},
};

/// The host of the page with the frame. The shop is at `localhost`, which is another site.
const ELSEWHERE: &str = "127.0.0.1";

/// Opens a page of another site, and an address in a frame on it. All later commands are for the
/// frame.
async fn framed(browser: &Browser, elsewhere: &House, address: &str) {
    browser.goto(&format!("http://{ELSEWHERE}:{}/about", elsewhere.port())).await;
    let frame = "Object.assign(document.createElement('iframe'), { title: 'shop', id: 'shop' })";
    browser.value(&format!("document.body.append({frame})")).await;
    browser.value(&format!("void (document.getElementById('shop').src = '{address}')")).await;
    let frame = browser.client().find(Locator::Id("shop")).await.unwrap();
    frame.enter_frame().await.unwrap();
}

/// The cookies of the browser, each with the site in whose frames it is sent.
async fn cookies(browser: &Browser) -> Vec<(String, Value)> {
    let all = browser.devtools("Storage.getCookies", json!({})).await;
    let cookies = all["cookies"].as_array().unwrap().iter();
    let told = |cookie: &Value| {
        let name = cookie["name"].as_str().unwrap().to_owned();
        (name, cookie["partitionKey"]["topLevelSite"].clone())
    };
    cookies.map(told).collect()
}

#[tokio::test]
async fn a_visitor_waits_and_enters_inside_a_frame_of_another_site() {
    let embedded = CookieSettings::new().same_site(SameSite::None).partitioned();
    let house = House::open(config().cookie(embedded));
    let elsewhere = House::open(config());
    assert!(Visitor::of(&house).get("/").await.is_inside());
    let browser = Browser::start().await;
    framed(&browser, &elsewhere, &house.url("/item?id=7")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    house.has_waiting(1).await;
    let expected = ("__Host-wr-shop".to_owned(), json!(format!("http://{ELSEWHERE}")));
    assert_eq!(cookies(&browser).await, [expected]);
    house.handle().room().unwrap().set_limits(2, None).await.unwrap();
    assert_eq!(browser.inside().await, "GET /item?id=7");
    assert_eq!(house.snapshot().await.active, 2);
    // At the top, the same browser is another visitor, who has no part in the session.
    browser.client().enter_parent_frame().await.unwrap();
    browser.goto(&house.url("/")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
}

#[tokio::test]
async fn without_partitioned_cookies_a_frame_of_another_site_gets_no_place() {
    let (house, _guest) = House::full(config()).await;
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    framed(&browser, &elsewhere, &house.url("/")).await;
    // The page asks again and again, and each request is that of a newcomer.
    browser.text_when("h1", |text| !text.is_empty()).await;
    let count = "(window.asked = 0, new PerformanceObserver(list => \
        window.asked += list.getEntries().length).observe({ type: 'resource' }), 0)";
    browser.value(count).await;
    tests::until("the page has asked twice", async || {
        let asked = browser.value("window.asked").await;
        (asked.as_u64() >= Some(2)).then_some(())
    })
    .await;
    assert_eq!((house.snapshot().await.waiting, cookies(&browser).await), (0, Vec::new()));
    assert_ne!(browser.text("h1").await.as_deref(), Some("You are next in line"));
}

#[tokio::test]
async fn a_page_whose_policy_forbids_frames_is_not_shown_in_one() {
    let policy = format!("{}; frame-ancestors 'none'", Page::STRICT_POLICY);
    let page = Page::default().content_security_policy(&policy);
    let (house, _guest) = House::full(config().page(page)).await;
    let elsewhere = House::open(config());
    let browser = Browser::start().await;
    framed(&browser, &elsewhere, &house.url("/")).await;
    tests::until("the browser refuses the frame", async || {
        let complaints = browser.complaints().await;
        complaints.iter().any(|complaint| complaint.contains("frame-ancestors")).then_some(())
    })
    .await;
    assert_eq!(browser.text("#page").await, None);
    // The same page is shown at the top.
    browser.client().enter_parent_frame().await.unwrap();
    browser.goto(&house.url("/")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
}
