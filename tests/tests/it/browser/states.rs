//! Accessibility of the page in every state, on a small phone, in light and in dark mode.

use std::{future::ready, time::Duration};

use serde_json::json;
use tests::{Browser, House, config, until};
use tower_waiting_room::{
    Concurrency, Key, Quota, RateLimit,
    config::WaitingRoomConfigBuilder,
    rate::RateStoreFailure,
    request::MissingKey,
    room::{
        QueueingMethod,
        event::{Event, Schedule, Seed},
    },
    time::{Clock, SystemClock},
};
use waiting_room_doubles::RateStoreDouble;

use super::accessibility::expect_no_violations;

/// Keeps the page from loading itself again, by its script or by its header.
const STAY: &str = "(() => {
    for (let id = setTimeout(() => {}); id > 0; id -= 1) clearTimeout(id);
    window.stop();
})()";

/// A browser that is as narrow as a small phone.
async fn small() -> Browser {
    let browser = Browser::start().await;
    let size = json!({ "width": 320, "height": 568, "deviceScaleFactor": 1, "mobile": false });
    browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
    browser
}

/// Asserts that the page has this headline as soon as it is shown, and that nothing is wrong with it.
async fn expect_good(browser: &Browser, headline: &str) {
    browser.text_when("h1", |text| text.replace('\n', " ") == headline).await;
    expect_no_violations(browser, headline).await;
    let width = browser.value("document.documentElement.scrollWidth").await;
    assert!(width.as_u64().unwrap() <= 320, "{headline}: {width}");
}

/// A room with slots for all, behind this limit.
fn limited(limit: RateLimit) -> WaitingRoomConfigBuilder {
    config().total_active_users(9).rate_limit(limit)
}

#[tokio::test]
async fn axe_finds_no_violations_in_any_refusal() {
    let none = Quota::per_minute(0);
    let closed = Concurrency::limit(0).queue(0);
    let browser = small().await;
    let by_key = RateLimit::new("key", none, Key::header("x-api-key"));
    for (config, headline) in [
        (limited(RateLimit::global(none)), "That was a little too fast"),
        (config().total_active_users(9).concurrency(closed), "Many people are here right now"),
        (config().queueing_method(QueueingMethod::Reject), "Sorry, we are full"),
        (limited(by_key.missing_key(MissingKey::Refuse)), "Something is missing from this request"),
        (limited(RateLimit::per_ip(none)), "This service is not set up correctly"),
        (
            limited(RateLimit::global(none))
                .rate_store(RateStoreDouble::unavailable(), RateStoreFailure::Refuse),
            "One moment, please",
        ),
    ] {
        let house = House::open(config);
        // In the rooms that are not limited, this is the visitor who has the slot.
        tests::Visitor::of(&house).get("/").await;
        browser.goto(&house.url("/")).await;
        // The page of a refusal tries again by itself, and must not do so while it is checked.
        browser.value(STAY).await;
        assert_eq!(browser.text("h1").await.as_deref(), Some(headline));
        expect_good(&browser, headline).await;
        // Cookies do not depend on the port, so the next house would read the same token.
        browser.client().delete_all_cookies().await.unwrap();
    }
}

#[tokio::test]
async fn axe_finds_no_violations_until_it_is_the_visitors_turn() {
    let (house, guest) = House::full(config()).await;
    let browser = small().await;
    let agent = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    let crawler = json!({ "userAgent": agent });
    browser.devtools("Emulation.setUserAgentOverride", crawler).await;
    browser.goto(&house.url("/")).await;
    expect_good(&browser, "You are next in line").await;

    let room = house.handle().room().unwrap();
    room.queue_all().await.unwrap();
    browser.goto(&house.url("/")).await;
    expect_good(&browser, "You are next in line").await;
    room.resume().await.unwrap();

    // A page that must not reload by itself tells the visitor that it is its turn.
    let form = "<form method=post enctype=text/plain><input name=item value=7></form>";
    browser.goto(&house.url("/about")).await;
    browser.value(&format!("document.body.innerHTML = `{form}`")).await;
    browser.value(&format!("document.forms[0].action = '{}'", house.url("/order"))).await;
    browser.value("document.forms[0].submit()").await;
    browser.text_when(".note:not([hidden])", |_| true).await;
    guest.leave().await;
    expect_good(&browser, "It is your turn").await;
}

#[tokio::test]
async fn axe_finds_no_violations_before_and_after_a_draw() {
    let browser = small().await;
    let in_secs = |secs: u64| SystemClock::new().now() + Duration::from_secs(secs);
    let prequeue_start = in_secs(2);
    let event = Event::new("doors", in_secs(3_000), in_secs(4_000));
    let event = event.prequeue_start(prequeue_start);
    let seed = Seed::new([9; 32]);
    let (house, _guest) = House::full(config().event(event).event_seed("doors", seed)).await;
    until("the prequeue", || ready((prequeue_start <= in_secs(0)).then_some(()))).await;
    browser.goto(&house.url("/")).await;
    let number = |text: &str| text.contains("Your number in the draw is 1.");
    let prequeue = browser.text_when("main", number).await;
    assert!(prequeue.contains("Its commitment is "), "{prequeue}");
    expect_good(&browser, "Your place is drawn by lot at the start").await;
    // The digits are too long to be read by all, so a visitor who wants to check the draw opens them.
    assert_eq!(browser.text("#proof code").await.as_deref(), Some(""));
    browser.value("document.querySelector('#proof summary').click()").await;
    let digits = browser.text("#proof code").await.unwrap();
    assert!(
        digits.len() == 64 && prequeue.contains(&format!("Its commitment is {}…", &digits[..8]))
    );
    expect_good(&browser, "Your place is drawn by lot at the start").await;

    // The operator opens the doors as soon as the page has been checked, however long that took.
    let room = house.handle().room().unwrap();
    let earliest = prequeue_start + Duration::from_secs(10);
    let event = room.schedule().event("doors").unwrap().clone();
    let event = event.start(earliest.max(in_secs(2)));
    room.set_schedule(Schedule::new([event]).unwrap()).await.unwrap();
    let result = |text: &str| text.contains("Your number 1 of 1 got place 1 in the draw.");
    let drawn = browser.text_when("main", result).await;
    assert!(drawn.contains("Its seed is "), "{drawn}");
    expect_good(&browser, "You are next in line").await;
}
