//! Accessibility of the waiting page.

use serde_json::json;
use tests::{Browser, House, config, workspace};
use tower_waiting_room::{Quota, RateLimit, respond::Page, room::QueueingMethod};

/// Asserts that axe-core finds no violation in the current page, in light and in dark mode.
pub(super) async fn expect_no_violations(browser: &Browser, what: &str) {
    let axe = std::fs::read_to_string(workspace("tests/node_modules/axe-core/axe.min.js")).unwrap();
    browser.client().execute(&axe, Vec::new()).await.unwrap();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await;
        let found = browser.promised("axe.run()").await;
        let rules = found["passes"].as_array().unwrap().len();
        assert!(rules > 10, "{what}, {scheme}: {found}");
        let violations = found["violations"].as_array().unwrap();
        let named = violations
            .iter()
            .map(|violation| format!("{}: {}", violation["id"], violation["nodes"][0]["html"]));
        assert_eq!(named.collect::<Vec<_>>(), Vec::<String>::new(), "{what}, {scheme}");
    }
}

#[tokio::test]
async fn a_screen_reader_finds_its_way() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    let agent = browser.value("navigator.userAgent").await;
    for language in ["en", "de", "es", "fr", "zh-Hans", "zh-Hant", "pt-BR", "ar"] {
        let languages = json!({ "userAgent": agent, "acceptLanguage": language });
        browser.devtools("Emulation.setUserAgentOverride", languages).await;
        browser.goto(&house.url("/")).await;
        assert_eq!(browser.value("document.documentElement.lang").await, language);
    }
    assert_eq!(browser.value("document.querySelectorAll('h1').length").await, 1);
    assert_eq!(browser.value("document.querySelectorAll('main').length").await, 1);
    let region = browser.value("document.querySelector('[role=status]').ariaLive").await;
    assert_eq!(region, "polite");
    // The image of the progress contains nothing that the text does not.
    assert_eq!(browser.value("document.querySelector('svg').ariaHidden").await, "true");
}

#[tokio::test]
async fn axe_finds_no_violations() {
    let (house, _guest) = House::full(config()).await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/")).await;
    expect_no_violations(&browser, "without a place").await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    expect_no_violations(&browser, "with a place").await;

    house.handle().room().unwrap().drain().await.unwrap();
    browser.client().delete_all_cookies().await.unwrap();
    browser.goto(&house.url("/")).await;
    assert_eq!(browser.text("h1").await.unwrap(), "The line is closed");
    expect_no_violations(&browser, "refused").await;
}

#[tokio::test]
async fn axe_finds_no_violations_in_any_other_state() {
    let logo = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'/%3E";
    let page = Page::default().title("Midsummer Festival").logo(logo);
    let page = page.accent("#0b6e4f", "#5fd3a8").notice("Doors open at ten.");
    let page = page.support("https://help.example/");
    let lottery = config().page(page.clone()).queueing_method(QueueingMethod::Random);
    let (house, _guest) = House::full(lottery).await;
    let browser = Browser::start().await;
    for language in ["en", "ar", "ja"] {
        let agent = browser.value("navigator.userAgent").await;
        let languages = json!({ "userAgent": agent, "acceptLanguage": language });
        browser.devtools("Emulation.setUserAgentOverride", languages).await;
        browser.goto(&house.url("/")).await;
        expect_no_violations(&browser, &format!("drawn by lot, {language}")).await;
    }
    let limit = RateLimit::global(Quota::per_hour(1));
    let limited = House::open(config().page(page).total_active_users(9).rate_limit(limit));
    limited.guest().await;
    // Cookies do not depend on the port, so both houses would read the same ticket.
    browser.client().delete_all_cookies().await.unwrap();
    browser.goto(&limited.url("/")).await;
    assert_eq!(browser.text("h1").await.unwrap(), "操作の間隔が短すぎます");
    expect_no_violations(&browser, "refused by a limit").await;
    browser.client().delete_all_cookies().await.unwrap();

    let form = "<form method=post enctype=text/plain><input name=item value=7></form>";
    browser.goto(&house.url("/about")).await;
    browser.value(&format!("document.body.innerHTML = `{form}`")).await;
    browser.value(&format!("document.forms[0].action = '{}'", house.url("/order"))).await;
    browser.value("document.forms[0].submit()").await;
    browser.text_when("#reload", |_| true).await;
    expect_no_violations(&browser, "not sent").await;
}
