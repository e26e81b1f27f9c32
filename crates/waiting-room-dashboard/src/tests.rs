//! Tests of the routes. Time is virtual: a test advances the clock, and samples by hand.

mod bad_input;
#[cfg(target_os = "linux")]
mod cost;
mod disconnect;
mod live;
mod sampler;

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    KeyRing, TokenKey, WaitingRoomConfig, WaitingRoomLayer, config::WaitingRoomConfigBuilder,
};
use waiting_room_core::{Timestamp, time::ManualClock};

use super::{
    access::{Denied, Operator},
    board::Board,
    dashboard::Dashboard,
};

/// A shop with a dashboard. A request with the header `operator` comes from the operator that the
/// header names.
struct House {
    layer: WaitingRoomLayer,
    clock: ManualClock,
    board: Arc<Board>,
    router: Router,
}

/// A response from the dashboard.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

/// A room for one visitor.
fn config() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .new_users_per_minute(60)
        .session_duration(Duration::from_secs(80))
        .keys(KeyRing::new(TokenKey::from_bytes([1; 32])))
}

impl House {
    /// Opens the shop. There is no runtime yet, so the test samples by hand.
    fn new(config: WaitingRoomConfigBuilder) -> Self {
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_040));
        let layer = WaitingRoomLayer::with_clock(config.build().unwrap(), clock.clone());
        let board = Board::sampled_by_hand(layer.handle());
        let auth = |request: &http::request::Parts| {
            let name = request.headers.get("operator").ok_or_else(Denied::forbidden)?;
            Ok(Operator::new(name.to_str().unwrap_or_default()))
        };
        let router = Dashboard::of(Arc::clone(&board), auth).router();
        Self { layer, clock, board, router }
    }

    /// Sends a request to the dashboard.
    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.respond(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { status: head.status, headers: head.headers, body }
    }

    async fn respond(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Reads a page of the dashboard as the operator Ann.
    async fn get(&self, path: &str) -> Answer {
        self.send(ann().uri(path).body(Body::empty()).unwrap()).await
    }

    /// Sends a JSON document as the operator Ann.
    async fn post(&self, path: &str, body: &str) -> Answer {
        self.send(post(path).body(Body::from(body.to_owned())).unwrap()).await
    }

    /// Sends a visitor with this cookie, and returns the status and the new cookie.
    async fn visit(&self, cookie: Option<&str>) -> (StatusCode, Option<String>) {
        self.visit_at("/", cookie).await
    }

    /// Sends a visitor with this cookie to a path.
    async fn visit_at(&self, path: &str, cookie: Option<&str>) -> (StatusCode, Option<String>) {
        let request = Request::builder().uri(path).header("accept", "application/json");
        let request = match cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        };
        let app = service_fn(async |_: Request<String>| {
            Ok::<_, Infallible>(Response::new("inside".to_owned()))
        });
        let request = request.body(String::new()).unwrap();
        let response = self.layer.layer(app).oneshot(request).await.unwrap();
        let cookie = response.headers().get("set-cookie").map(|value| {
            let value = value.to_str().unwrap();
            value.split(';').next().unwrap().to_owned()
        });
        (response.status(), cookie)
    }

    /// Advances the clock, and takes a sample every second.
    async fn seconds(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            self.board.sample().await;
        }
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The detail of a problem document with this status.
    fn refused(&self, status: StatusCode) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        self.json()["detail"].as_str().unwrap().to_owned()
    }
}

/// A request from the operator Ann.
fn ann() -> http::request::Builder {
    Request::builder().header("operator", "Ann").header("host", "shop.example")
}

/// A JSON request from the operator Ann, with the headers that the page would send.
fn post(path: &str) -> http::request::Builder {
    ann()
        .method("POST")
        .uri(path)
        .header("content-type", "application/json")
        .header("origin", "https://shop.example")
        .header("sec-fetch-site", "same-origin")
}
