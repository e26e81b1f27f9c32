//! The page on every screen, in every language, and as the page of a refusal.

use std::time::Duration;

use serde_json::json;
use tests::{Browser, House, Visitor, config};
use tower_waiting_room::{Quota, RateLimit, request::Language, respond::Page};

async fn resize(browser: &Browser, width: u32, height: u32) {
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
    browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
}

async fn speak(browser: &Browser, language: &str) {
    let agent = browser.value("navigator.userAgent").await;
    let languages = json!({ "userAgent": agent, "acceptLanguage": language });
    browser.devtools("Emulation.setUserAgentOverride", languages).await;
}

#[tokio::test]
async fn no_language_is_wider_than_a_small_phone() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    resize(&browser, 320, 640).await;
    for (number, language) in Language::ALL.into_iter().enumerate() {
        // A ticket is answered 20 times at once, and a fast machine loads more pages than that.
        if number % 15 == 14 {
            browser.client().delete_all_cookies().await.unwrap();
        }
        speak(&browser, language.tag()).await;
        browser.goto(&house.url("/")).await;
        let root = "document.documentElement";
        assert_eq!(browser.value(&format!("{root}.lang")).await, language.tag());
        let direction = if language.is_right_to_left() { "rtl" } else { "ltr" };
        assert_eq!(browser.value(&format!("getComputedStyle({root}).direction")).await, direction);
        let width = browser.value(&format!("{root}.scrollWidth")).await;
        assert!(width.as_u64().unwrap() <= 320, "{language}: {width}");
    }
}

#[tokio::test]
async fn a_phone_on_its_side_shows_the_place_and_the_wait_without_scrolling() {
    let page = Page::default().title("Midsummer Festival");
    let (house, _guest) = House::full(config().page(page)).await;
    let browser = Browser::start().await;
    resize(&browser, 640, 300).await;
    for language in ["en", "de", "ar", "ru"] {
        speak(&browser, language).await;
        browser.goto(&house.url("/")).await;
        for part in ["#position", "#wait", "#bar"] {
            let bottom = format!("document.querySelector('{part}').getBoundingClientRect().bottom");
            let bottom = browser.value(&bottom).await.as_f64().unwrap();
            assert!(bottom > 0.0 && bottom <= 300.0, "{language}, {part}: {bottom}");
        }
        let width = browser.value("document.documentElement.scrollWidth").await;
        assert!(width.as_u64().unwrap() <= 640, "{language}: {width}");
    }
}

#[tokio::test]
async fn a_small_window_shows_the_whole_page_with_its_card_in_the_middle() {
    let page = Page::default().title("Midsummer Festival");
    let (house, _guest) = House::full(config().page(page)).await;
    let _first = Visitor::of(&house).queue().await;
    let browser = Browser::start().await;
    resize(&browser, 1000, 640).await;
    browser.goto(&house.url("/")).await;
    browser.text_when("h1 b", |number| number == "2").await;
    let height = browser.value("document.documentElement.scrollHeight").await;
    assert!(height.as_u64().unwrap() <= 640, "{height}");
    let around = "(card => [card.left, innerWidth - card.right])\
                  (document.querySelector('main').getBoundingClientRect())";
    let around = browser.value(around).await;
    assert_eq!(around[0], around[1]);
}

#[tokio::test]
async fn a_page_that_a_limit_refuses_tries_again_by_itself() {
    for has_scripts in [true, false] {
        let limit = RateLimit::global(Quota::new(1, Duration::from_secs(3)));
        let house = House::open(config().total_active_users(9).rate_limit(limit));
        let browser = Browser::start().await;
        let browser = if has_scripts { browser } else { browser.without_scripts().await };
        house.guest().await;
        browser.goto(&house.url("/item?id=7")).await;
        assert_eq!(browser.text("h1").await.unwrap(), "That was a little too fast");
        assert_eq!(browser.inside().await, "GET /item?id=7");
    }
}
