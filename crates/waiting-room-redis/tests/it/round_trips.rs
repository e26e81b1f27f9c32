//! Tests that a distant store costs active visitors no session, however long the round trip takes.

use std::time::Duration;

use axum::{Router, body::Body, http::Request, response::Response, routing::get};
use tower::ServiceExt;
use tower_waiting_room::{
    KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer, respond::reason_of,
};
use waiting_room_core::{RoomRules, Timestamp, time::ManualClock};
use waiting_room_engines::Engine;
use waiting_room_redis::RedisStoreOptions;

use crate::{
    link::Link,
    support::{connect_to, start},
};

const SESSION: u64 = 80;

/// Starts a node of a room for one visitor, with pages that take no time.
async fn node(link: &Link, clock: &ManualClock) -> Router {
    let rules = RoomRules::new("shop", 1).session_duration(Duration::from_secs(SESSION));
    // Long enough for a busy machine: the test is about the round trip, not the deadline.
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(5)).clock(clock.clone());
    let store = connect_to(link.port, rules, options).await.unwrap();
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store, StoreFailure::Wait)
        .keys(KeyRing::new(TokenKey::from_bytes([7; 32])));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    Router::new().route("/", get(|| async { "inside" })).layer(layer)
}

/// A client that keeps a cookie.
#[derive(Default)]
struct Visitor(Option<String>);

impl Visitor {
    async fn get(&mut self, node: &Router) -> Response {
        let mut request = Request::get("/");
        if let Some(cookie) = &self.0 {
            request = request.header("cookie", cookie);
        }
        let response = node.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        if let Some(set) = response.headers().get("set-cookie") {
            self.0 = set.to_str().unwrap().split(';').next().map(str::to_owned);
        }
        response
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_that_returns_within_its_session_stays_at_any_round_trip() {
    let server = start(Engine::Redis);
    for (round, round_trip) in (0..).zip([0, 2, 20, 50, 100]) {
        let link = Link::with_round_trip(server.port(), Duration::from_millis(round_trip)).await;
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000 + round * 10_000));
        let nodes =
            [node(&link, &clock).await, node(&link, &clock).await, node(&link, &clock).await];
        let mut ann = Visitor::default();
        assert_eq!(ann.get(&nodes[0]).await.status(), 200, "{round_trip} ms");
        // Each pause is shorter than a session, but some outlast the pass that the client holds.
        for (turn, pause) in [40, 79, 15, 79, 79, 11, 79, 60, 79].into_iter().enumerate() {
            clock.advance(Duration::from_secs(pause));
            let newcomer = Visitor::default().get(&nodes[(turn + 2) % 3]).await;
            assert_ne!(newcomer.status(), 200, "{round_trip} ms: the room is full");
            let response = ann.get(&nodes[(turn + 1) % 3]).await;
            let reason = reason_of(&response).map(ToString::to_string);
            assert_eq!(response.status(), 200, "{round_trip} ms, turn {turn}: {reason:?}");
        }
        clock.advance(Duration::from_secs(2 * SESSION));
    }
}
