//! The operator's dashboard, used as an operator would use it, while a crowd is at the door.

use std::time::Duration;

use fantoccini::{Locator, key::Key};
use http::{Method, StatusCode};
use serde_json::json;
use tests::{Browser, House, Visitor, application, config, obey, until};
use tokio::task::JoinSet;
use tower_waiting_room::{Concurrency, Quota, RateLimit, WaitingRoomLayer, room::RoomMode};
use waiting_room_dashboard::{Dashboard, basic_auth};

use super::accessibility::expect_no_violations;

const PASSWORD: &str = "doors-open-at-eight";

/// A shop with 40 slots and a dashboard at `/admin`.
fn shop() -> House {
    let config = config()
        .total_active_users(40)
        .new_users_per_minute(600)
        .concurrency(Concurrency::limit(64).queue(512).name("pages"))
        .rate_limit(RateLimit::global(Quota::per_second(2_000)));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let operator = Dashboard::new(layer.handle(), basic_auth("ann", PASSWORD).unwrap()).router();
    House::of(0, layer.clone(), application().layer(layer).nest_service("/admin", operator))
}

/// The address of the dashboard, for the operator Ann.
fn address(house: &House) -> String {
    format!("http://ann:{PASSWORD}@localhost:{}/admin", house.port())
}

/// Sends visitors who wait, look around for a second, and leave. They all leave when this is
/// dropped.
fn crowd(house: &House, visitors: u32) -> JoinSet<()> {
    let mut crowd = JoinSet::new();
    for number in 0..visitors {
        let visitor = Visitor::of(house);
        crowd.spawn(async move {
            obey(Duration::from_millis(u64::from(number) * 10)).await;
            loop {
                let seen = visitor.get("/").await;
                if seen.is_inside() {
                    obey(Duration::from_secs(1)).await;
                    visitor.get("/leave").await;
                }
                obey(seen.retry_after().unwrap_or(Duration::from_secs(1))).await;
            }
        });
    }
    crowd
}

/// The curve of the active visitors.
async fn curve(browser: &Browser) -> String {
    let path = "document.querySelector('#chart-visitors path.one').getAttribute('d')";
    browser.value(path).await.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_operator_watches_a_crowd_of_500_and_changes_a_limit() {
    let house = shop();
    let _crowd = crowd(&house, 500);
    let browser = Browser::start().await;
    browser.goto(&address(&house)).await;
    browser.text_when("#link", |text| text == "live").await;
    assert_eq!(browser.text("h1").await.unwrap(), "shop");
    browser.text_when("#active-of", |text| text == "of 40").await;
    browser.text_when("#waiting", |text| text.parse::<u32>().is_ok_and(|count| count > 100)).await;
    browser.text_when("#gates", |text| text.starts_with("pages ")).await;
    browser.text_when("#rate-limits", |text| text.starts_with("service ")).await;
    browser.text_when("#reasons", |text| text.contains("queued:")).await;
    until("visitors of the line are admitted", async || {
        let wait = browser.text("#p50").await?;
        (wait != "–").then_some(())
    })
    .await;

    // The charts move.
    let before = curve(&browser).await;
    until("the curve moves", async || (curve(&browser).await != before).then_some(())).await;
    let label = browser.value("document.querySelector('#chart-visitors').ariaLabel").await;
    assert!(label.as_str().unwrap().contains("limit: now 40, at most 40"), "{label}");

    // A limit is changed with the keyboard: preview, wrong confirmation, right confirmation.
    let client = browser.client();
    let field = client.find(Locator::Id("total_active_users")).await.unwrap();
    field.clear().await.unwrap();
    field.send_keys("60").await.unwrap();
    field.send_keys(&Key::Enter.to_string()).await.unwrap();
    let words = browser.text_when("#dialog-words", |text| !text.is_empty()).await;
    assert!(words.starts_with("Allows 60 active visitors instead of 40, and 600 new"), "{words}");
    assert!(words.contains(" drains in about "), "{words}");
    let confirm = client.find(Locator::Id("confirm")).await.unwrap();
    confirm.send_keys("shop!").await.unwrap();
    confirm.send_keys(&Key::Enter.to_string()).await.unwrap();
    let refusal = browser.text_when("#dialog-error", |text| !text.is_empty()).await;
    assert_eq!(refusal, "confirm is \"shop!\", expected the name of the room, \"shop\"");
    let room = house.handle().room().unwrap();
    assert_eq!(room.rules().total_active_users, 40);
    confirm.clear().await.unwrap();
    confirm.send_keys("shop").await.unwrap();
    confirm.send_keys(&Key::Enter.to_string()).await.unwrap();
    browser.text_when("#active-of", |text| text == "of 60").await;
    assert_eq!(room.rules().total_active_users, 60);
    let changes = browser.text_when("#audit", |text| text.contains("ann")).await;
    assert!(changes.contains("limits 40 active, 600 new per minute 60 active"), "{changes}");
    browser.text_when("#heard", |text| text.is_empty() || text.contains("is now 60")).await;

    // Escape closes the dialog of another switch, which has no effect.
    client.find(Locator::Css("[data-action=drain]")).await.unwrap().click().await.unwrap();
    let words = browser.text_when("#dialog-words", |text| text.starts_with("Refuses")).await;
    assert!(words.contains("admissions per minute"), "{words}");
    client
        .find(Locator::Id("confirm"))
        .await
        .unwrap()
        .send_keys(&Key::Escape.to_string())
        .await
        .unwrap();
    assert_eq!(browser.value("document.getElementById('dialog').open").await, false);
    assert_eq!(room.rules().mode, RoomMode::Auto);
    assert_eq!(
        browser.complaints().await.iter().filter(|complaint| !complaint.contains("422")).count(),
        0
    );
}

#[tokio::test]
async fn axe_finds_no_violations_on_the_dashboard() {
    let house = shop();
    let _crowd = crowd(&house, 60);
    let browser = Browser::start().await;
    for width in [1280, 320] {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
        browser.goto(&address(&house)).await;
        browser.text_when("#reasons", |text| text.contains("queued:")).await;
        expect_no_violations(&browser, &format!("{width} px")).await;
        let widest = browser.value("document.documentElement.scrollWidth").await;
        assert!(widest.as_u64().unwrap() <= width, "{width} px: {widest}");
        let switch = browser.client().find(Locator::Css("[data-action=suspend]")).await.unwrap();
        switch.click().await.unwrap();
        browser.text_when("#dialog-words", |text| !text.is_empty()).await;
        expect_no_violations(&browser, &format!("{width} px, with the dialog")).await;
    }
}

#[tokio::test]
async fn a_page_of_another_site_cannot_use_the_dashboard_of_an_operator() {
    let house = shop();
    let browser = Browser::start().await;
    // The browser remembers the password of the operator.
    browser.goto(&address(&house)).await;
    browser.text_when("#link", |text| text == "live").await;
    // 127.0.0.1 is another site than localhost.
    browser.goto(&format!("http://127.0.0.1:{}/about", house.port())).await;
    let target = house.url("/admin/change");
    for content_type in ["text/plain", "application/json"] {
        let options = json!({
            "method": "POST",
            "mode": if content_type == "text/plain" { "no-cors" } else { "cors" },
            "credentials": "include",
            "headers": { "content-type": content_type },
            "body": r#"{"action":"suspend","confirm":"shop"}"#,
        });
        browser.promised(&format!("fetch('{target}', {options}).then(it => it.type)")).await;
    }
    let read = format!("fetch('{}', {{credentials: 'include'}})", house.url("/admin/status"));
    let answer = browser.promised(&format!("{read}.then(it => it.text())")).await;
    assert_eq!(answer, "TypeError: Failed to fetch");
    assert_eq!(house.handle().room().unwrap().rules().mode, RoomMode::Auto);
}

#[tokio::test]
async fn the_dashboard_asks_for_a_password_before_it_shows_anything() {
    let house = shop();
    let stranger = Visitor::of(&house);
    for (method, path) in [
        (Method::GET, "/admin"),
        (Method::GET, "/admin/events"),
        (Method::GET, "/admin/status"),
        (Method::POST, "/admin/change"),
        (Method::OPTIONS, "/admin/change"),
    ] {
        let seen = stranger.send(method, path).await;
        assert_eq!(seen.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(seen.header("www-authenticate").unwrap().starts_with("Basic realm="));
        assert!(!seen.body.contains("shop"), "{seen:?}");
    }
}
