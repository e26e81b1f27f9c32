//! The child process: a busy room on one thread, and its dashboard on the main thread.

use std::{thread, time::Duration};

use anyhow::Result;
use axum::{Router, body::Body, routing::get};
use http::{HeaderMap, Request, StatusCode, header};
use tokio::{
    net::TcpListener,
    time::{Instant, MissedTickBehavior, interval},
};
use tower::ServiceExt;
use tower_waiting_room::{Concurrency, Key, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_dashboard::{Dashboard, Operator};

use crate::{
    child::{end_with_starter, say},
    requests::runtime,
};

/// The number of slots of the room.
pub(super) const SLOTS: u32 = 100;
/// The number of visitors, who come back as soon as they have left.
pub(super) const VISITORS: usize = 500;

/// Serves until standard input ends, with or without a dashboard.
pub(crate) fn serve(is_mounted: bool) -> Result<()> {
    end_with_starter();
    let layer = WaitingRoomLayer::new(config()?);
    let shop = Router::new()
        .route("/", get(|| async { "Welcome." }))
        .route("/leave", get(|| async { ([("waiting-room-command", "revoke")], "Goodbye.") }))
        .layer(layer.clone());
    thread::spawn(move || runtime().block_on(crowd(shop)));
    runtime().block_on(async {
        let operator = if is_mounted {
            Dashboard::new(layer.handle(), |_| Ok(Operator::new("ann"))).router()
        } else {
            Router::new()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        say(&listener.local_addr()?.port())?;
        Ok(axum::serve(listener, operator).await?)
    })
}

fn config() -> Result<WaitingRoomConfig> {
    let quota = Quota::per_second(100_000);
    let config = WaitingRoomConfig::builder("shop")
        .total_active_users(SLOTS)
        .refresh_interval(Duration::from_secs(2));
    let config = (0..8).fold(config, |config, number| {
        config.concurrency(Concurrency::limit(8).name(format!("gate-{number}")))
    });
    let config = (0..64).fold(config, |config, number| {
        config.rate_limit(RateLimit::new(format!("limit-{number}"), quota, Key::global()))
    });
    Ok(config.build()?)
}

/// A visitor who waits, looks around for a second, leaves, and comes back.
struct Visitor {
    cookie: Option<String>,
    due: Instant,
    is_inside: bool,
}

/// Lets all visitors come when they are due.
async fn crowd(shop: Router) {
    let mut visitors: Vec<_> = (0..VISITORS)
        .map(|_| Visitor { cookie: None, due: Instant::now(), is_inside: false })
        .collect();
    let mut beat = interval(Duration::from_millis(100));
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = beat.tick().await;
        for visitor in visitors.iter_mut().filter(|visitor| visitor.due <= now) {
            visitor.come(&shop).await;
        }
    }
}

impl Visitor {
    async fn come(&mut self, shop: &Router) {
        let path = if self.is_inside { "/leave" } else { "/" };
        let request = Request::get(path).header(header::ACCEPT, "application/json");
        let request = match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        };
        let request = request.body(Body::empty()).expect("the request is complete");
        let Ok(response) = shop.clone().oneshot(request).await;
        let is_admitted = response.status() == StatusCode::OK;
        if let Some(cookie) = text(response.headers(), header::SET_COOKIE) {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        let wait = text(response.headers(), header::RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.parse().ok()).unwrap_or(1);
        if self.is_inside {
            self.cookie = None;
        }
        self.is_inside = is_admitted && !self.is_inside;
        self.due = Instant::now() + Duration::from_secs(wait);
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
