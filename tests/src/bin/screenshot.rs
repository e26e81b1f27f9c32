//! Takes the screenshots of the waiting page for the README.
//!
//! `cargo run -p tests --bin screenshot` writes `docs/waiting-room.png`: a visitor in a moving line,
//! after two minutes of waiting. The clock of the room is set by hand, so the program does not have
//! to wait for them. It then writes the same page in Arabic and Japanese, and on a phone that is
//! held upright or on its side, for `docs/guide/wiring.md`. The Japanese needs a font, such as that
//! of the Debian package `fonts-ipafont-gothic`.

#![expect(clippy::unwrap_used, reason = "a failure leaves nothing to take a screenshot of")]

use std::{fs, mem, time::Duration};

use serde_json::json;
use tests::{Browser, House, Visitor, application, config, until, workspace};
use tower_waiting_room::{
    WaitingRoomLayer,
    respond::Page,
    time::{ManualClock, Timestamp},
};

#[tokio::main]
async fn main() {
    let clock = ManualClock::new(DOORS_OPEN);
    let (house, mut line) = busy(&clock).await;
    let browser = Browser::start().await;
    let size = json!({ "width": 880, "height": 640, "deviceScaleFactor": 1.25, "mobile": false });
    browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
    let zone = json!({ "timezoneId": "UTC" });
    browser.devtools("Emulation.setTimezoneOverride", zone).await;
    browser.prefer("light").await;

    browser.goto(&house.url("/")).await;
    place_is_shown(&browser, &clock).await;
    for _ in 0..40 {
        tick(&clock, &mut line).await;
    }
    browser.goto(&house.url("/")).await;
    place_is_shown(&browser, &clock).await;
    take(&browser, "waiting-room.png").await;

    // The same place in other languages, and on a phone.
    let agent = browser.value("navigator.userAgent").await;
    for (language, scheme, [width, height], name) in [
        ("ar", "light", [420, 560], "waiting-room-ar.png"),
        ("ja", "dark", [420, 560], "waiting-room-ja.png"),
        ("en", "dark", [320, 568], "waiting-room-phone.png"),
        ("en", "light", [640, 300], "waiting-room-landscape.png"),
    ] {
        let languages = json!({ "userAgent": agent, "acceptLanguage": language });
        browser.devtools("Emulation.setUserAgentOverride", languages).await;
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
        browser.prefer(scheme).await;
        browser.goto(&house.url("/")).await;
        take(&browser, name).await;
    }
}

/// Returns when the page shows an exact place. Until then, the room's time goes on, a little more slowly
/// than that of the page, so that the page returns before its ticket lapses.
async fn place_is_shown(browser: &Browser, clock: &ManualClock) {
    until("an exact place", async || {
        clock.advance(Duration::from_millis(40));
        browser.text("h1").await.filter(|text| text.starts_with("You are number"))
    })
    .await;
}

/// Writes a picture of the page to the docs.
async fn take(browser: &Browser, name: &str) {
    let picture = browser.client().screenshot().await.unwrap();
    let file = workspace("docs").join(name);
    fs::write(&file, &picture).unwrap();
    println!("{}: {} KiB", file.display(), picture.len() / 1024);
}

/// A room with twenty visitors, who arrived over two minutes and stay for as long, and a line of 41.
async fn busy(clock: &ManualClock) -> (House, Vec<Visitor>) {
    let page = Page::default().title("Midsummer Festival");
    let config = config().total_active_users(20).session_duration(STAY).page(page);
    let layer = WaitingRoomLayer::with_clock(config.build().unwrap(), clock.clone());
    let house = House::of(0, layer.clone(), application().layer(layer));
    for _ in 0..20 {
        house.guest().await;
        clock.advance(STAY / 20);
    }
    let mut line: Vec<_> = (0..41).map(|_| Visitor::of(&house)).collect();
    tick(clock, &mut line).await;
    tick(clock, &mut line).await;
    (house, line)
}

/// Sends a request for each visitor in the line, and advances the clock by three seconds.
async fn tick(clock: &ManualClock, line: &mut Vec<Visitor>) {
    for visitor in mem::take(line) {
        if !visitor.get("/").await.is_inside() {
            line.push(visitor);
        }
    }
    clock.advance(Duration::from_secs(3));
}

/// The time for which visitors stay.
const STAY: Duration = Duration::from_secs(120);

/// 2026-06-20T08:00:00Z
const DOORS_OPEN: Timestamp = Timestamp::from_secs(1_781_942_400);
