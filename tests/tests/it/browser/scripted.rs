//! A visit in a browser that runs scripts, with the cookie that a room uses by default.

use serde_json::json;
use tests::{Browser, House, Visitor, config};
use tower_waiting_room::token::CookieSettings;

#[tokio::test]
async fn the_position_falls_and_the_visitor_enters_without_a_manual_reload() {
    let house = House::open(config().total_active_users(2).cookie(CookieSettings::new()));
    let guests = [house.guest().await, house.guest().await];
    let bob = Visitor::of(&house).queue().await;
    let cat = Visitor::of(&house).queue().await;
    let dan = Visitor::of(&house).queue().await;
    let (browser, ()) = tokio::join!(Browser::start(), house.has_waiting(3));

    browser.goto(&house.url("/item?id=7&colour=red")).await;
    browser.value("window.unmoved = true").await;
    let title = browser.client().title().await.unwrap();
    assert_eq!(title, "Waiting · shop");
    browser.text_when("#position b", |number| number == "4").await;
    assert_eq!(browser.text("h1").await.unwrap(), "You are number\n4\nin line");
    let title = browser.client().title().await.unwrap();
    assert_eq!(title, "No. 4 in line · shop");

    for guest in guests {
        guest.leave().await;
    }
    let bob = bob.await.unwrap();
    let cat = cat.await.unwrap();
    browser.text_when("#position b", |number| number == "2").await;
    assert_eq!(browser.value("window.unmoved").await, json!(true), "the page was not reloaded");
    let heard = browser.value("document.getElementById('heard').textContent").await;
    assert!(heard.as_str().unwrap().starts_with("You are number 2 in line"), "{heard}");

    bob.leave().await;
    cat.leave().await;
    assert_eq!(browser.inside().await, "GET /item?id=7&colour=red");
    assert_eq!(browser.value("window.unmoved").await, json!(null));
    dan.await.unwrap().leave().await;
    assert_eq!(house.snapshot().await.active, 1);
}

#[tokio::test]
async fn the_pass_is_a_secure_cookie_that_scripts_cannot_read() {
    let house = House::open(config().cookie(CookieSettings::new()));
    let browser = Browser::start().await;
    for _ in 0..2 {
        browser.goto(&house.url("/")).await;
        assert_eq!(browser.inside().await, "GET /");
    }
    assert_eq!(browser.value("document.cookie").await, "");
    let cookie = browser.client().get_named_cookie("__Host-wr-shop").await.unwrap();
    assert_eq!((cookie.secure(), cookie.http_only()), (Some(true), Some(true)));
    assert!(cookie.same_site().is_some_and(|same_site| same_site.is_lax()));
    assert_eq!((cookie.path(), cookie.domain()), (Some("/"), Some("localhost")));
}
