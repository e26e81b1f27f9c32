//! Takes the screenshot of the operator's dashboard for `docs/dashboard.md`.
//!
//! `cargo run -p tests --bin dashboard` writes `docs/dashboard.png`: a shop with 200 slots, a
//! quarter of an hour after its doors opened. That time is virtual, so the program takes only as
//! long as the requests of the crowd.

#![expect(clippy::unwrap_used, reason = "a failure leaves nothing to take a screenshot of")]

use std::{fs, time::Duration};

use axum::{Router, body::Body};
use http::{Request, StatusCode, header};
use serde_json::json;
use tests::{Browser, application, config, workspace};
use tokio::{net::TcpListener, time};
use tower::ServiceExt;
use tower_waiting_room::{
    Concurrency, Quota, RateLimit, WaitingRoomLayer,
    time::{ManualClock, Timestamp},
};
use waiting_room_dashboard::{Dashboard, Operator};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let clock = ManualClock::new(DOORS_OPEN);
    let config = config()
        .total_active_users(200)
        .new_users_per_minute(200)
        .session_duration(Duration::from_secs(300))
        .refresh_interval(Duration::from_secs(10))
        .concurrency(Concurrency::limit(64).queue(256).name("checkout"))
        .rate_limit(RateLimit::global(Quota::per_second(60).burst(60)));
    let layer = WaitingRoomLayer::with_clock(config.build().unwrap(), clock.clone());
    let operator = Dashboard::new(layer.handle(), |_| Ok(Operator::new("ann"))).router();
    let shop = application().layer(layer.clone());
    let mut crowd = Vec::new();
    let mut came = 0;
    for second in 0..MINUTES * 60 {
        clock.advance(Duration::from_secs(1));
        for _ in 0..arrivals(second) {
            came += 1;
            crowd.push(Visitor { stay: 40 + 37 * came % 61, ..Visitor::default() });
        }
        for visitor in &mut crowd {
            visitor.come(&shop, second).await;
        }
        crowd.retain(|visitor| !visitor.is_gone);
        if second == MINUTES * 40 {
            layer.handle().room().unwrap().set_limits(240, 220).await.unwrap();
        }
        // The sampler of the dashboard runs while this task sleeps.
        time::sleep(Duration::from_secs(1)).await;
    }
    time::resume();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, operator).await });
    let ticking = tokio::spawn(async move {
        loop {
            time::sleep(Duration::from_secs(1)).await;
            clock.advance(Duration::from_secs(1));
        }
    });
    photograph(&url).await;
    ticking.abort();
}

/// Writes the picture of the dashboard at this address.
async fn photograph(url: &str) {
    let browser = Browser::start().await;
    let resize = async |height| {
        let size =
            json!({ "width": 1200, "height": height, "deviceScaleFactor": 1, "mobile": false });
        browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
    };
    resize(json!(1000)).await;
    browser.devtools("Emulation.setTimezoneOverride", json!({ "timezoneId": "UTC" })).await;
    browser.prefer("light").await;
    browser.goto(url).await;
    browser.text_when("#reasons", |text| !text.is_empty()).await;
    browser.text_when("#error", |text| text.contains(' ')).await;
    // A window that is as high as the page cuts no part of it, and has no scrollbar.
    resize(browser.value("document.documentElement.scrollHeight").await).await;
    let picture = browser.client().screenshot().await.unwrap();
    let file = workspace("docs").join("dashboard.png");
    fs::write(&file, &picture).unwrap();
    println!("{}: {} KiB", file.display(), picture.len() / 1024);
}

/// The number of visitors who arrive in this second: few, then a rush, then fewer than can enter.
const fn arrivals(second: u32) -> u32 {
    match second {
        0..120 => 1,
        120..125 => 80,
        125..540 => 3 + second % 2,
        _ => 2,
    }
}

/// A visitor who comes back when it is asked to, until it is inside, and leaves after its stay.
#[derive(Default)]
struct Visitor {
    cookie: Option<String>,
    due: u32,
    stay: u32,
    is_inside: bool,
    is_gone: bool,
}

impl Visitor {
    /// Sends a request if it is due.
    async fn come(&mut self, shop: &Router, second: u32) {
        if self.due > second {
            return;
        }
        let path = if self.is_inside { "/leave" } else { "/" };
        let request = Request::builder().uri(path).header(header::ACCEPT, "application/json");
        let request = match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        };
        let response = shop.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let text = |name| Some(response.headers().get(name)?.to_str().unwrap().to_owned());
        if let Some(cookie) = text(header::SET_COOKIE) {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        self.is_gone = self.is_inside;
        self.is_inside = response.status() == StatusCode::OK;
        let retry_after = text(header::RETRY_AFTER);
        self.due = second + retry_after.map_or(self.stay, |seconds| seconds.parse().unwrap());
    }
}

/// The length of the record.
const MINUTES: u32 = 15;

/// 2026-06-20T08:00:00Z
const DOORS_OPEN: Timestamp = Timestamp::from_secs(1_781_942_400);
